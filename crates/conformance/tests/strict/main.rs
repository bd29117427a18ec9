//! Tests of the simulators from outside: small correct clients pass, and broken requests get the
//! provider's own refusal.

#[cfg(test)]
mod client;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod loops;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod sizes;
