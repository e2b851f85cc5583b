use super::*;

/// wrk 4.1.0, `-t1 -c64 -d1s`.
const WRK: &str = "\
Running 1s test @ http://127.0.0.1:5001/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   816.58us    1.47ms  17.30ms   93.08%
    Req/Sec    94.91k    15.84k  113.58k    72.73%
  103924 requests in 1.10s, 21.01MB read
Requests/sec:  94382.92
Transfer/sec:     19.08MB
";

/// The same where everything is answered with 404.
const WRK_404: &str = "\
Running 1s test @ http://127.0.0.1:5001/
  1 threads and 4 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     0.91ms    1.55ms  12.59ms   85.56%
    Req/Sec    39.89k     3.57k   43.41k    90.91%
  43609 requests in 1.10s, 9.11MB read
  Non-2xx or 3xx responses: 43609
Requests/sec:  39660.16
Transfer/sec:      8.28MB
";

/// The same where connections are closed instead.
const WRK_CLOSED: &str = "\
Running 1s test @ http://127.0.0.1:5002/
  1 threads and 4 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     0.00us    0.00us   0.00us    -nan%
    Req/Sec     0.00      0.00     0.00      -nan%
  0 requests in 1.10s, 0.00B read
  Socket errors: connect 0, read 41662, write 0, timeout 0
Requests/sec:      0.00
Transfer/sec:       0.00B
";

/// h2load of nghttp2 1.52.0, `--h1 -t1 -c64 -D 1500ms`, without its progress.
const H2LOAD: &str = "\
Application protocol: http/1.1
Main benchmark duration is over for thread #0. Stopping all clients.
Stopped all clients for thread #0

finished in 1.50s, 89636.00 req/s, 18.12MB/s
requests: 134454 total, 134518 started, 134454 done, 134454 succeeded, \
0 failed, 0 errored, 0 timeout
status codes: 134454 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 27.18MB (28504248) total, 13.98MB (14659083) headers \
(space savings 0.00%), 8.21MB (8607168) data
                     min         max         mean         sd        +/- sd
time for request:      154us     10.22ms       713us      1.08ms    90.99%
time for connect:        7us       266us       134us        74us    59.38%
time to 1st byte:      721us      7.98ms      2.08ms      2.10ms    84.38%
req/s           :    1380.84     1410.88     1400.19        5.91    67.19%
";

/// The lines that matter of the same where connections are closed, with `-n 100`.
const H2LOAD_CLOSED: &str = "\
finished in 1.01ms, 0.00 req/s, 0B/s
requests: 100 total, 4 started, 0 done, 0 succeeded, 100 failed, 100 errored, 0 timeout
status codes: 0 2xx, 0 3xx, 0 4xx, 0 5xx
";

/// oha 1.16.0, `--output-format json -c 64 -z 1s`, without histograms and percentiles.
const OHA: &str = r#"{
  "summary": {
    "successRate": 1.0,
    "total": 1.001980966,
    "slowest": 0.009176628,
    "fastest": 0.000294246,
    "average": 0.001105285163615803,
    "requestsPerSec": 57420.252432220346,
    "totalData": 3678080,
    "sizePerRequest": 64,
    "sizePerSec": 3670808.2536569857
  },
  "details": {
    "DNSDialup": {
      "average": 0.00113148275,
      "fastest": 0.00053227,
      "slowest": 0.001750078
    },
    "DNSLookup": {
      "average": 2.3495000000000005e-06,
      "fastest": 1.16e-06,
      "slowest": 2.9873e-05
    },
    "firstByte": {
      "average": 0.0011052009430659515,
      "fastest": 0.000294169,
      "slowest": 0.009176548
    }
  },
  "statusCodeDistribution": {
    "200": 57470
  },
  "errorDistribution": {
    "aborted due to deadline": 64
  }
}"#;

/// The same where nobody listens, with `-n 100`.
const OHA_REFUSED: &str = r#"{
  "summary": {
    "successRate": 0.0,
    "total": 0.008787829,
    "slowest": null,
    "fastest": null,
    "average": null,
    "requestsPerSec": 11379.374814871795,
    "totalData": 0,
    "sizePerRequest": null,
    "sizePerSec": 0.0
  },
  "details": {
    "DNSDialup": {
      "average": null,
      "fastest": null,
      "slowest": null
    },
    "DNSLookup": {
      "average": null,
      "fastest": null,
      "slowest": null
    },
    "firstByte": {
      "average": null,
      "fastest": null,
      "slowest": null
    }
  },
  "statusCodeDistribution": {},
  "errorDistribution": {
    "Connection refused (os error 111)": 100
  }
}"#;

fn of(done: u64, per_second: f64, errors: u64) -> Result<Said, String> {
    Ok(Said { done, per_second, errors, has_kept_up: true, ..Said::default() })
}

#[test]
fn what_wrk_says_is_read() {
    assert_eq!(Said::of_wrk(WRK), of(103_924, 94_382.92, 0));
    assert_eq!(Said::of_wrk(WRK_404), of(0, 39_660.16, 43_609));
    assert_eq!(Said::of_wrk(WRK_CLOSED), of(0, 0.0, 41_662));
}

#[test]
fn what_h2load_says_is_read() {
    assert_eq!(Said::of_h2load(H2LOAD), of(134_454, 89_636.0, 0));
    assert_eq!(Said::of_h2load(H2LOAD_CLOSED), of(0, 0.0, 100));
}

#[test]
fn what_oha_says_is_read_and_what_its_end_cut_off_is_no_error() {
    let said = Said::of_oha(OHA).unwrap();
    assert_eq!((said.done, said.errors), (57_470, 0));
    assert!((57_356.0..57_357.0).contains(&said.per_second), "{said:?}");
    assert_eq!(Said::of_oha(OHA_REFUSED), of(0, 0.0, 100));
}

#[test]
fn what_the_bare_loop_says_is_read() {
    let said = r#"{"connected":90,"errors":3,"seconds":1.5}"#;
    assert_eq!(Said::of_bare(said), of(90, 60.0, 3));
}

#[test]
fn something_else_is_no_result() {
    let readers = [Said::of_portolan, Said::of_wrk, Said::of_h2load, Said::of_oha, Said::of_bare];
    for (nth, read) in readers.into_iter().enumerate() {
        for text in ["", "unable to connect to 127.0.0.1:5009 Connection refused", "{}"] {
            assert!(read(text).is_err(), "{nth} {text}");
        }
    }
}
