//! Runs the built program, and checks its output and exit codes.
//! Recorded traffic of every wire goes through `think parse`. A judge compares the output with the
//! expectations in the recordings. It knows only their description and the public output format.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "everything here is a test, and a test that breaks is a finding"
)]

mod acceptance;
mod accounts;
mod acp;
#[cfg(unix)]
mod acp_cancel;
mod acp_load;
mod ask;
mod ask_endings;
mod ask_history;
mod ask_input;
mod ask_options;
mod browser;
mod budget;
mod canary;
mod choices;
#[cfg(unix)]
mod collector;
mod commands;
mod completions;
mod config_check;
mod config_keys;
mod connect;
mod corpus;
mod doctor;
mod explain;
mod explain_sent;
mod front;
#[cfg(unix)]
mod frozen;
mod guessed;
mod health;
mod hostile;
#[cfg(unix)]
mod init;
#[cfg(unix)]
mod instructions;
mod judge;
mod keys;
mod keys_rotate;
mod mask;
mod masking;
mod masking_output;
mod mcp;
mod models;
mod own_models;
#[cfg(unix)]
mod own_traces;
mod patterns;
mod place;
mod postgres;
mod program;
#[cfg(unix)]
mod pty;
#[cfg(unix)]
mod resuming;
mod runaway;
mod scripted;
mod serve;
mod serve_access;
mod serve_addresses;
mod serve_bad_disk;
mod serve_budgets;
mod serve_budgets_claims;
mod serve_budgets_raw;
mod serve_budgets_sent;
mod serve_budgets_words;
mod serve_config;
mod serve_confirmed;
mod serve_crowd;
mod serve_damage;
#[cfg(unix)]
mod serve_displaced;
mod serve_door;
mod serve_edges;
mod serve_end;
#[cfg(unix)]
mod serve_events;
#[cfg(unix)]
mod serve_facts;
mod serve_failover;
mod serve_faults;
#[cfg(unix)]
mod serve_forgotten;
mod serve_forms;
mod serve_frozen;
mod serve_http2;
mod serve_journal;
mod serve_kills;
mod serve_leaving;
mod serve_limit;
mod serve_limits;
mod serve_limits_shared;
mod serve_load;
mod serve_money;
mod serve_pools;
mod serve_power;
mod serve_reach;
mod serve_resources;
mod serve_responses;
mod serve_retention;
mod serve_revoked;
mod serve_routes;
mod serve_runaway;
mod serve_security;
mod serve_shared;
mod serve_slices;
#[cfg(unix)]
mod serve_spill;
mod serve_tenants;
mod serve_threats;
#[cfg(unix)]
mod serve_told;
mod serve_traces;
mod serve_unlisted;
#[cfg(unix)]
mod serve_versions;
mod serve_vertex;
mod server;
mod sessions;
mod settings;
mod sim;
mod tools;
mod trace_items;
mod traces;
mod traces_why;
mod ui;
mod upstream;
mod without_thoughts;
