//! The loop of the terminal client. Keys and events of the model go into the [`Session`]; frames and requests come
//! out.
//!
//! A frame is drawn after a change, at most sixty times a second. Changes between two frames are drawn together.

mod ahead;
mod asking;
mod away;
mod background;
mod engine;
mod events;
mod files;
mod guard;
mod here;
mod host;
mod keep;
mod teller;

pub use host::{Connection, Host};
pub use keep::open;

use crate::attachment::mentioned;
use crate::gate::Gate;
use crate::screen::theme::{Background, Depth, Theme};
use crate::screen::{self, Frame, Hit, Screen};
use crate::session::{Effect, Message, Progress, Scroll, Session, Start, Verdict};
use crate::tools::{self, Toolbox};
use crate::traced::Tracer;
use away::Away;
use background::Listener;
use crossterm::event::{Event, MouseButton, MouseEvent, MouseEventKind};
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use crossterm::{execute, queue};
use engine::{Engine, Inbound};
use events::{Ending, Keys, copy, counter, pass_on};
use files::Changer;
use guard::Guard;
use here::Here;
use keep::{Folders, Keeper, Order};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Position, Rect};
use std::collections::{HashMap, HashSet};
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use thinkthrough_core::tokens::Tokenizer;
use thinkthrough_limits::runaway::Runaway;
use thinkthrough_mask::Masker;
use thinkthrough_store::Conversations;
use tokio::sync::mpsc;
use tokio::time::{sleep_until, timeout};

/// The parts that a client is built from.
pub struct Client {
    /// The first state of the session.
    pub start: Start,
    /// The connection to the first model of the session.
    pub connection: Connection,
    /// The connection to the utility model, if there is one.
    pub utility: Option<Connection>,
    /// Access to the configuration.
    pub host: Arc<dyn Host>,
    /// The tools, if any.
    pub tools: Option<Toolbox>,
    /// Notices of tool servers for the user.
    pub notices: mpsc::UnboundedReceiver<String>,
    /// The store of conversations, unless storing is off.
    pub conversations: Option<Conversations>,
    /// The store of traces, if any.
    pub tracer: Option<Tracer>,
    /// The policy for thoughts that repeat the same text.
    pub runaway: Runaway,
    /// Masks secrets in requests to a provider, if the user wants that.
    pub masker: Option<Masker>,
    /// Counts tokens.
    pub tokenizer: &'static dyn Tokenizer,
    /// Reads the environment.
    pub env: fn(&str) -> Option<String>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("connection", &self.connection).finish_non_exhaustive()
    }
}

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(16);
/// The shortest time between a key and its frame, so that a typed letter appears at once.
const FRAME_OF_A_KEY: Duration = Duration::from_millis(3);
/// The interval at which timers on the screen advance.
const TICK: Duration = Duration::from_millis(100);
/// How long writes to the store and the configuration may take when the client ends.
const LAST_WRITES: Duration = Duration::from_secs(5);
/// How long running work may take to stop when the client ends.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long servers of tools may take to end by themselves, and again after they are asked to end.
const LAST_STEPS: Duration = Duration::from_secs(4);
/// Rows that one turn of the wheel moves.
const WHEEL: isize = 3;

/// The stored conversation that the user left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Its id and its title with secrets masked, if it is stored.
    pub stored: Option<(String, String)>,
    /// The end of its transcript, as lines for a terminal that scrolls.
    pub transcript: String,
}

/// Holds a conversation until the user leaves. Returns the conversation, if it is stored.
///
/// # Errors
/// When the terminal cannot be used.
pub async fn run(client: Client) -> io::Result<Option<Left>> {
    let ended = Ending::new()?;
    let guard = Guard::take(client.start.takes_mouse)?;
    let ahead = ahead::typed();
    let listener = background::ask(client.env);
    let mut app = App::new(client, listener)?;
    let ended = app.run(ended, ahead).await;
    drop(guard);
    let left = app.finish().await;
    ended.map(|()| left)
}

struct App {
    terminal: Terminal<CrosstermBackend<BufWriter<io::Stdout>>>,
    screen: Screen,
    frame: Frame,
    session: Session,
    began: Instant,
    engine: Engine,
    host: Arc<dyn Host>,
    changer: Changer,
    connections: HashMap<String, Connection>,
    /// The current model, if its context window is unknown.
    unknown: Option<String>,
    /// The models whose servers were asked for their context window.
    looked_for: HashSet<String>,
    inbox: mpsc::UnboundedReceiver<Inbound>,
    sender: mpsc::UnboundedSender<Inbound>,
    orders: Option<mpsc::UnboundedSender<Order>>,
    counts: std::sync::mpsc::Sender<crate::session::Count>,
    env: fn(&str) -> Option<String>,
    listener: Listener,
    /// The ground of the terminal, as it reports it, or as the environment lets guess.
    reported: Background,
    /// The ground that the user chose colours for.
    chosen: Option<Background>,
    /// The program that gets the terminal next.
    away: Option<Away>,
    is_dirty: bool,
    /// A key came since the last frame.
    is_typed: bool,
    /// The terminal may no longer show the last frame.
    is_stale: bool,
    is_over: bool,
}

impl App {
    fn new(client: Client, listener: Listener) -> io::Result<Self> {
        let Client { start, connection, utility, host, tools, notices, conversations, .. } = client;
        let (tokenizer, env) = (client.tokenizer, client.env);
        let (sender, inbox) = mpsc::unbounded_channel();
        let here = Here::default();
        let folders = Folders { here: start.folder.clone(), home: env("HOME") };
        let orders = conversations.map(|conversations| {
            let (orders, queue) = mpsc::unbounded_channel();
            let keeper = Keeper::new(
                conversations,
                sender.clone(),
                start.resumed.as_ref(),
                (here.clone(), start.cover.clone(), folders),
            );
            tokio::spawn(keeper.run(queue));
            orders
        });
        let mut connections = HashMap::new();
        for connection in utility.into_iter().chain([connection]) {
            connections.insert(connection.model.name.clone(), connection);
        }
        tokio::spawn(pass_on(notices, sender.clone()));
        let gate = Gate::new(start.budget).covering(client.masker).watching(client.runaway);
        let gate = gate.knowing(start.lessons.clone());
        let traces = client.tracer.map(|tracer| (tracer, here));
        let gate = (gate, start.cover.clone());
        let engine = Engine::new(sender.clone(), tools.map(Arc::new), gate, traces);
        // The buffer holds a whole frame, so that the frame is written at once.
        let out = BufWriter::with_capacity(1 << 18, io::stdout());
        // A guess, until the terminal answers.
        let reported = Background::of(env);
        let theme = Theme::new(reported, Depth::of(env));
        Ok(App {
            terminal: Terminal::new(CrosstermBackend::new(out))?,
            screen: Screen::new(theme),
            frame: Frame::default(),
            session: Session::new(start),
            began: Instant::now(),
            engine,
            changer: Changer::start(Arc::clone(&host), sender.clone()),
            host,
            connections,
            unknown: None,
            looked_for: HashSet::new(),
            inbox,
            counts: counter(tokenizer, sender.clone()),
            sender,
            orders,
            env,
            listener,
            reported,
            chosen: None,
            away: None,
            is_dirty: true,
            is_typed: false,
            is_stale: false,
            is_over: false,
        })
    }

    async fn run(&mut self, mut ended: Ending, ahead: Vec<Event>) -> io::Result<()> {
        self.draw()?;
        let mut keys = Keys::start();
        let mut drawn = Instant::now();
        self.update(Message::Tick);
        self.engine.look_for_tools();
        ahead.into_iter().for_each(|event| self.on_event(event));
        while !self.is_over {
            if let Some(away) = self.away.take() {
                self.go_away(away, &keys, &mut ended).await?;
            }
            let pace = if self.is_typed { FRAME_OF_A_KEY } else { FRAME };
            let next_frame = pace.saturating_sub(drawn.elapsed());
            let (is_dirty, is_moving) = (self.is_dirty, self.session.is_moving());
            let held = self.listener.deadline();
            tokio::select! {
                biased;
                event = keys.next() => match event {
                    Some(event) => self.on_typed(event),
                    // The terminal is gone.
                    None => self.is_over = true,
                },
                () = ended.wait() => self.is_over = true,
                () = sleep_until(held.unwrap_or(drawn).into()), if held.is_some() => {
                    let held = self.listener.give_up();
                    held.into_iter().for_each(|event| self.on_event(event));
                }
                () = tokio::time::sleep(next_frame), if is_dirty => {
                    self.draw()?;
                    drawn = Instant::now();
                }
                Some(inbound) = self.inbox.recv() => self.on_inbound(inbound),
                () = tokio::time::sleep(TICK), if is_moving && !is_dirty => self.update(Message::Tick),
            }
        }
        Ok(())
    }

    /// Lets the store finish, and returns the conversation.
    async fn finish(mut self) -> Option<Left> {
        for effect in self.session.leave() {
            self.carry_out(effect);
        }
        // The part of an answer that has arrived becomes a message.
        let stopped = async {
            while self.session.is_asking() {
                let Some(inbound) = self.inbox.recv().await else { return };
                self.on_inbound(inbound);
            }
        };
        drop(timeout(LAST_WORDS, stopped).await);
        self.is_kept().await;
        drop(timeout(LAST_WRITES, self.engine.traced()).await);
        self.changer.end().await;
        drop(timeout(LAST_STEPS, self.engine.close()).await);
        while let Ok(inbound) = self.inbox.try_recv() {
            self.on_inbound(inbound);
        }
        let width = self.terminal.size().map_or(80, |size| size.width);
        if !self.session.has_messages() {
            return None;
        }
        let stored = self.session.stored().map(|(id, title)| (id.to_owned(), title));
        let transcript = self.screen.scrollback(self.session.view(), width);
        Some(Left { stored, transcript })
    }

    fn draw(&mut self) -> io::Result<()> {
        // Terminals that know this command show the whole frame at once. Others ignore it.
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        if std::mem::take(&mut self.is_stale) {
            // `clear` would ask for the cursor's position and wait for an answer that the key reader takes.
            let size = self.terminal.size()?;
            self.terminal.resize(Rect::from((Position::ORIGIN, size)))?;
        }
        let (screen, frame) = (&mut self.screen, &mut self.frame);
        let view = self.session.view();
        self.terminal.draw(|target| {
            *frame = screen.render(view, target.buffer_mut());
            if let Some(cursor) = frame.cursor {
                target.set_cursor_position(cursor);
            }
        })?;
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        (self.is_dirty, self.is_typed) = (false, false);
        Ok(())
    }

    /// Handles an event from the terminal: an action of the user, or the answer about its background.
    fn on_typed(&mut self, event: Event) {
        self.is_typed = true;
        let heard = self.listener.hear(event, Instant::now());
        heard.events.into_iter().for_each(|event| self.on_event(event));
        if let Some(rgb) = heard.background {
            self.reported = Background::Known(rgb);
            self.use_theme();
        }
    }

    /// Uses the colours for this ground, or for the terminal's own.
    fn choose_theme(&mut self, background: Option<Background>) {
        self.chosen = background;
        self.use_theme();
    }

    fn use_theme(&mut self) {
        let background = self.chosen.unwrap_or(self.reported);
        self.screen.set_theme(Theme::new(background, Depth::of(self.env)));
        self.is_dirty = true;
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Key(key) => self.update(Message::Key(key)),
            Event::Paste(text) => self.update(Message::Paste(text)),
            Event::Mouse(mouse) => self.on_mouse(mouse),
            // A resize may clear the screen even if the new size equals the old one.
            Event::Resize(..) => (self.is_dirty, self.is_stale) = (true, true),
            Event::FocusGained | Event::FocusLost => {}
        }
    }

    fn on_mouse(&mut self, mouse: MouseEvent) {
        let rows = match mouse.kind {
            MouseEventKind::ScrollUp => -WHEEL,
            MouseEventKind::ScrollDown => WHEEL,
            MouseEventKind::Down(MouseButton::Left) => {
                match self.frame.hit(mouse.column, mouse.row) {
                    Some(Hit::Head(entry)) => {
                        self.screen.hold();
                        self.update(Message::Click(entry));
                    }
                    Some(Hit::Item(row)) => self.update(Message::Pick(row)),
                    Some(Hit::Latest) => self.scroll(screen::Scroll::End),
                    Some(Hit::Entry(_)) | None => {}
                }
                return;
            }
            _ => return,
        };
        self.scroll(screen::Scroll::Rows(rows));
    }

    fn scroll(&mut self, scroll: screen::Scroll) {
        self.screen.scroll(scroll);
        self.is_dirty = true;
    }

    fn on_inbound(&mut self, inbound: Inbound) {
        match inbound {
            Inbound::Message(message) => {
                let has_answered = matches!(&message, Message::Progress(_, Progress::Added(_)));
                self.update(message);
                if has_answered {
                    self.look_for_window();
                }
            }
            Inbound::Chosen(connection) => {
                let model = Box::new(connection.model.clone());
                self.looked_for.remove(&model.name);
                self.connections.insert(model.name.clone(), *connection);
                self.update(Message::Chosen(Ok(model)));
            }
            Inbound::Begins(origin) => self.order(Order::Begins(origin)),
            Inbound::Draft(so_far) => self.order(Order::Draft(so_far)),
        }
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            drop(orders.send(order));
        }
    }

    fn update(&mut self, message: Message) {
        self.is_dirty = true;
        for effect in self.session.update(message, self.began.elapsed()) {
            self.carry_out(effect);
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Ask(question) => self.ask(*question),
            Effect::Resume(conversation) => self.engine.resume(&conversation),
            Effect::Stop(run) => self.engine.stop(run),
            Effect::Verdict(verdict) => self.engine.decide(match verdict {
                Verdict::Once => tools::Verdict::Once,
                Verdict::Always => tools::Verdict::Always,
                Verdict::No(words) if words.is_empty() => tools::Verdict::Deny(words),
                Verdict::No(words) => tools::Verdict::Deny(format!("the user said: {words}")),
            }),
            Effect::Keep(keep) => match &self.orders {
                Some(_) => self.order(Order::Keep(keep)),
                None => self.without_store(&keep),
            },
            Effect::Copy(text) => copy(&text),
            Effect::Write(write) => self.changer.change(write),
            Effect::Choose(name) => self.choose(name),
            Effect::ListModels => {
                let (host, sender) = (Arc::clone(&self.host), self.sender.clone());
                tokio::spawn(async move {
                    let offers = host.models().await;
                    drop(sender.send(Inbound::Message(Message::Models(offers))));
                });
            }
            Effect::Count(count) => drop(self.counts.send(*count)),
            Effect::Aside(side, question) => self.aside(side, *question),
            Effect::Export { path, format, contents, title, thoughts, is_masked } => {
                let (sender, host) = (self.sender.clone(), Arc::clone(&self.host));
                tokio::task::spawn_blocking(move || {
                    let masker = is_masked.then(|| host.masker()).transpose();
                    let said = masker.and_then(|masker| {
                        let what = files::Wanted { format, thoughts, masker };
                        files::export(&path, &contents, &title, &what)
                    });
                    drop(sender.send(Inbound::Message(Message::Said(said))));
                });
            }
            Effect::Import(path) => match files::import(&path) {
                Ok((title, contents)) => self.order(Order::Import(title, contents)),
                Err(error) => self.update(Message::Said(Err(error))),
            },
            Effect::Scroll(scroll) => self.scroll(match scroll {
                Scroll::Lines(lines) => screen::Scroll::Rows(lines),
                Scroll::Pages(pages) => screen::Scroll::Pages(pages),
                Scroll::Top => screen::Scroll::Start,
                Scroll::Bottom => screen::Scroll::End,
                Scroll::To(entry) => screen::Scroll::To(entry),
            }),
            Effect::Redraw => self.is_stale = true,
            Effect::Theme(background) => self.choose_theme(background),
            Effect::OtherTheme => {
                let is_light = self.chosen.unwrap_or(self.reported).is_light();
                let other = if is_light { Background::Dark } else { Background::Light };
                self.choose_theme(Some(other));
            }
            Effect::Plan(is_on) => self.engine.plan(is_on),
            Effect::UndoFiles(runs) => self.engine.undo_files(&runs),
            // A terminal that cannot change this keeps its mode.
            Effect::Mouse(is_taken) => drop(guard::take_mouse(is_taken)),
            Effect::ListFiles => {
                let sender = self.sender.clone();
                tokio::task::spawn_blocking(move || {
                    drop(sender.send(Inbound::Message(Message::Files(files::list()))));
                });
            }
            Effect::Attach(words, names) => {
                let home = (self.env)("HOME").map(PathBuf::from);
                let found = mentioned(&names, home.as_deref());
                self.update(Message::Attached(words, found));
            }
            Effect::Shell(run, command) => self.engine.shell(run, command),
            Effect::ListTools => self.engine.list_tools(false),
            Effect::ListServers => self.engine.list_tools(true),
            Effect::Edit(text) => self.away = Some(Away::Editor(text)),
            Effect::Suspend => self.away = Some(Away::Shell),
            Effect::Quit => self.is_over = true,
        }
    }
}
