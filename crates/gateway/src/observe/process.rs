//! The metrics that Prometheus expects of any process.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// This process.
#[derive(Debug)]
pub(crate) struct Process {
    /// Seconds since 1970.
    began: f64,
}

impl Process {
    /// The process, with the current time as its start.
    pub(crate) fn now() -> Self {
        let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Process { began: began.as_secs_f64() }
    }
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut put = |name: &str, help: &str, value: f64| {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        put("process_start_time_seconds", "When the gateway began", self.began)?;
        match resident() {
            Some(bytes) => put("process_resident_memory_bytes", "Memory in use", bytes),
            None => Ok(()),
        }
    }
}

/// The memory of the process, if the system shows it in a file, as Linux does.
fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes = line.trim().strip_suffix("kB")?.trim().parse::<u32>().ok()?;
    Some(f64::from(kilobytes) * 1024.0)
}
