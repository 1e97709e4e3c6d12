use std::time::Instant;
fn main() {
    let mp: std::collections::HashMap<&str, f64> = [("twitter",401510.),("citm_catalog",342473.),("canada",1056793.),("github_events",48969.),("mesh",413633.),("numbers",90012.),("random",380054.),("apache_builds",84082.),("instruments",84565.)].into_iter().collect();
    for path in std::env::args().skip(1) {
        let text = std::fs::read(&path).unwrap();
        let name = std::path::Path::new(&path).file_stem().unwrap().to_str().unwrap().to_string();
        let d = livebuf_json::from_slice(&text).unwrap();
        let v = d.doc().validate();
        if let Err(e) = &v { println!("{name}: {e}"); continue }
        let s = livebuf_json::to_string(v.unwrap().root()).unwrap();
        let a: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let b: serde_json::Value = serde_json::from_str(&s).unwrap();
        let stats = d.doc().stats().unwrap();
        let t = Instant::now();
        for _ in 0..20 { std::hint::black_box(livebuf_json::from_slice(&text).unwrap()); }
        let enc = t.elapsed().as_micros() / 20;
        let t = Instant::now();
        for _ in 0..20 { std::hint::black_box(livebuf_json::to_string(d.valid().unwrap().root()).unwrap()); }
        let pr = t.elapsed().as_micros() / 20;
        let t = Instant::now();
        for _ in 0..20 { std::hint::black_box(d.doc().validate().unwrap()); }
        let va = t.elapsed().as_micros() / 20;
        println!("{name:22} {:8} {:.3} of mp  {} same  enc {enc} us print {pr} validate {va} tables {} cols {} garbage {}", d.as_bytes().len(), d.as_bytes().len() as f64 / mp.get(name.as_str()).unwrap_or(&f64::NAN), a == b, stats.table_count, stats.columns, stats.garbage);
    }
}
