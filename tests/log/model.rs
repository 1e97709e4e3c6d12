//! Random work on a log, beside a plain list of its rows.

use crate::{json_of, place, read, row, rows_of};
use livebuf_log::{Log, LogOptions, LogReader};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Append,
    Extend(u64),
    Document(u64),
    Sync,
    Close,
    Drop,
    Refresh,
    Compact,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => Just(Step::Append),
        2 => (0..40u64).prop_map(Step::Extend),
        1 => (0..40u64).prop_map(Step::Document),
        1 => Just(Step::Sync),
        1 => Just(Step::Close),
        1 => Just(Step::Drop),
        1 => Just(Step::Refresh),
        1 => Just(Step::Compact),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn a_log_is_a_list(
        steps in steps(),
        rows in 1..20usize,
        bytes in 200..20_000u64,
        wasted in prop_oneof![Just(u64::MAX), 200..20_000u64],
    ) {
        let (_directory, path) = place();
        let options =
            LogOptions::new().group_rows(rows).group_bytes(bytes).compact_at(wasted);
        let mut log: Option<Log> = None;
        options.create(&path).unwrap().close().unwrap();
        let mut reader = LogReader::open(&path).unwrap();
        let mut model: Vec<String> = Vec::new();
        for step in steps {
            let mut open = match log.take() {
                Some(log) => log,
                None => options.open(&path).unwrap(),
            };
            prop_assert_eq!(open.dropped(), None);
            let length = model.len() as u64;
            match step {
                Step::Append => prop_assert_eq!(open.append(&row(length)).unwrap(), length),
                Step::Extend(count) => {
                    let rows: Vec<_> = (length..length + count).map(row).collect();
                    prop_assert_eq!(open.extend(rows.iter()).unwrap(), count);
                }
                Step::Document(count) => {
                    let rows: Vec<_> = (length..length + count).map(json_of).collect();
                    let document = format!("[{}]", rows.join(","));
                    let document = livebuf_json::from_str(&document).unwrap();
                    prop_assert_eq!(open.extend_document(document.valid().unwrap()).unwrap(), count);
                }
                Step::Sync => open.sync().unwrap(),
                Step::Close | Step::Drop | Step::Refresh => {}
                Step::Compact => drop(open.compact().unwrap()),
            }
            model.extend((length..open.len()).map(json_of));
            let stats = open.stats().file;
            prop_assert_eq!(stats.rows, model.len() as u64);
            prop_assert_eq!(std::fs::metadata(&path).unwrap().len(), stats.bytes);
            match step {
                Step::Close => open.close().unwrap(),
                Step::Drop => {}
                Step::Refresh => {
                    reader.refresh().unwrap();
                    prop_assert_eq!(&rows_of(&reader).unwrap(), &model);
                    log = Some(open);
                }
                _ => log = Some(open),
            }
        }
        prop_assert_eq!(&read(&path).unwrap(), &model);
        for (number, row) in model.iter().enumerate().step_by(7) {
            let reader = LogReader::open(&path).unwrap();
            let found = reader.get(number as u64).unwrap().unwrap();
            prop_assert_eq!(&livebuf_json::to_string(found.value().unwrap()).unwrap(), row);
        }
    }
}
