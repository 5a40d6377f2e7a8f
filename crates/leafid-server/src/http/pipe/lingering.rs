//! The end of a connection whose peer takes its time.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

use super::*;

/// Guards: answers that were gathered are sent whole before a connection is closed, however late
/// the peer reads them.
#[tokio::test(start_paused = true)]
async fn gathered_answers_are_sent_before_the_end() {
    let (near, mut far) = duplex(16);
    let mut pipe = Pipe::new(near);
    let answers = [b'7'; 1000];
    pipe.write_all(&answers).await.unwrap();
    let closing = tokio::spawn(async move { pipe.shutdown().await });
    sleep(10 * LINGER_MAX).await;
    let mut read = Vec::new();
    far.read_to_end(&mut read).await.unwrap();
    assert_eq!(read.len(), answers.len());
    drop(far);
    closing.await.unwrap().unwrap();
}
