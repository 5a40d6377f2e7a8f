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

/// Guards: at the shutdown too, what the peer has sent already is read before its connection is
/// closed: the system throws the last answers away otherwise. It is not waited for more.
#[tokio::test(start_paused = true)]
async fn what_came_in_is_read_before_the_end() {
    let (near, mut far) = duplex(16 * 1024);
    far.write_all(&[b'7'; 10_000]).await.unwrap();
    let mut pipe = Pipe::new(near);
    pipe.hurry();
    let begun = tokio::time::Instant::now();
    pipe.shutdown().await.unwrap();
    assert_eq!(begun.elapsed(), Duration::ZERO);
    let mut rest = [0; 1];
    let mut context = Context::from_waker(std::task::Waker::noop());
    let mut buf = ReadBuf::new(&mut rest);
    assert!(
        Pin::new(&mut pipe)
            .poll_read(&mut context, &mut buf)
            .is_pending()
    );
}

/// Guards: a connection at rest does not keep the room of its largest answer.
#[tokio::test]
async fn room_of_a_large_answer_is_given_back() {
    let (near, _far) = duplex(1024 * 1024);
    let mut pipe = Pipe::new(near);
    pipe.write_all(&[b'7'; 200_000]).await.unwrap();
    let sent = std::future::poll_fn(|context| pipe.poll_send(context)).await;
    sent.unwrap();
    assert!(pipe.lock().out.capacity() <= OUT_KEPT_MAX);
}
