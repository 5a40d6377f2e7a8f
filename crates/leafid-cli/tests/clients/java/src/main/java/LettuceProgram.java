import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.output.ObjectOutput;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.output.ValueListOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.ProtocolVersion;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.logging.LogManager;

/**
 * Puts Lettuce to a server of the Redis protocol, and prints what it saw as lines of JSON.
 *
 * <pre>
 * LettuceProgram check HOST:PORT default|2|3 [NAME [PASSWORD]]
 * LettuceProgram take HOST:PORT default|2|3 TAG ROUNDS
 * </pre>
 *
 * What the lines must say is for the caller to check.
 */
public final class LettuceProgram {
    private final String address;
    private final String protocol;
    private final RedisClient client;

    private LettuceProgram(String address, String protocol) {
        this.address = address;
        this.protocol = protocol;
        this.client = RedisClient.create();
        if (!protocol.equals("default")) {
            ProtocolVersion version =
                protocol.equals("2") ? ProtocolVersion.RESP2 : ProtocolVersion.RESP3;
            client.setOptions(ClientOptions.builder().protocolVersion(version).build());
        }
    }

    public static void main(String[] words) throws Exception {
        // It would say on standard error that it connects again.
        LogManager.getLogManager().reset();
        LettuceProgram program = new LettuceProgram(words[1], words[2]);
        if (words[0].equals("check")) {
            program.check(words.length > 3 ? words[3] : null, words.length > 4 ? words[4] : null);
        } else {
            program.take(words[3], Integer.parseInt(words[4]));
        }
        program.client.shutdown(Duration.ZERO, Duration.ZERO);
    }

    private StatefulRedisConnection<String, String> connect(String name, String password) {
        String[] parts = address.split(":");
        RedisURI.Builder uri = RedisURI.builder().withHost(parts[0]);
        uri.withPort(Integer.parseInt(parts[1]));
        if (password != null) {
            uri.withPassword(password.toCharArray());
        }
        if (name != null) {
            uri.withClientName(name);
        }
        return client.connect(uri.build());
    }

    private record Word(String text) implements ProtocolKeyword {
        @Override
        public byte[] getBytes() {
            return text.getBytes(StandardCharsets.US_ASCII);
        }

        @Override
        public String toString() {
            return text;
        }
    }

    /** A command that the library does not know. */
    private static <T> T call(
            StatefulRedisConnection<String, String> connection,
            CommandOutput<String, String, T> output,
            String... words) {
        CommandArgs<String, String> arguments = new CommandArgs<>(StringCodec.UTF8);
        for (int at = 1; at < words.length; at++) {
            arguments.add(words[at]);
        }
        return connection.sync().dispatch(new Word(words[0]), output, arguments);
    }

    private static CommandOutput<String, String, Object> object() {
        return new ObjectOutput<>(StringCodec.UTF8);
    }

    private static CommandOutput<String, String, String> text() {
        return new StatusOutput<>(StringCodec.UTF8);
    }

    private static CommandOutput<String, String, List<String>> list() {
        return new ValueListOutput<>(StringCodec.UTF8);
    }

    private static Future<?> send(RedisAsyncCommands<String, String> async, String... words) {
        return switch (words[0]) {
            case "INCR" -> async.incr(words[1]);
            case "INCRBY" -> async.incrby(words[1], Long.parseLong(words[2]));
            case "GET" -> async.get(words[1]);
            case "SET" -> async.set(words[1], words[2]);
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    private static List<Object> pipeline(
            StatefulRedisConnection<String, String> connection, String[]... commands)
            throws Exception {
        connection.setAutoFlushCommands(false);
        List<Future<?>> futures = new ArrayList<>();
        for (String[] command : commands) {
            futures.add(send(connection.async(), command));
        }
        connection.flushCommands();
        connection.setAutoFlushCommands(true);
        List<Object> answers = new ArrayList<>();
        for (Future<?> future : futures) {
            try {
                answers.add(future.get(5, TimeUnit.SECONDS));
            } catch (ExecutionException error) {
                answers.add(error.getCause());
            }
        }
        return answers;
    }

    private static List<Object> transaction(
            StatefulRedisConnection<String, String> connection, String[]... commands) {
        RedisCommands<String, String> sync = connection.sync();
        sync.multi();
        for (String[] command : commands) {
            send(connection.async(), command);
        }
        return sync.exec().stream().toList();
    }

    private void check(String name, String password) {
        StatefulRedisConnection<String, String> connection = connect(name, password);
        RedisCommands<String, String> sync = connection.sync();
        Show.show("hello", () -> call(connection, object(), "HELLO"));
        Show.show("ping", sync::ping);
        Show.show("name", sync::clientGetname);
        Show.show("incr", () -> sync.incr("order"));
        Show.show("incrby", () -> sync.incrby("order", 10));
        Show.show("get", () -> sync.get("order"));
        Show.show("get unknown", () -> sync.get("nothing"));
        Show.show("next", () -> call(connection, text(), "ID.NEXT", "order"));
        Show.show("next many", () -> call(connection, list(), "ID.NEXT", "order", "3"));
        Show.show("range", () -> call(connection, list(), "ID.RANGE", "order", "4"));
        Show.show("pipeline", () -> pipeline(connection, Show.times(100, "INCR", "order")));
        String[][] mixed = {
            {"INCR", "order"}, {"INCR", "user"}, {"INCRBY", "order", "5"}, {"GET", "order"}
        };
        Show.show("mixed pipeline", () -> pipeline(connection, mixed));
        String[][] broken = {{"INCR", "order"}, {"SET", "order", "1"}, {"INCR", "order"}};
        Show.show("refused in pipeline", () -> pipeline(connection, broken));
        Show.show("transaction", () -> transaction(connection, mixed));
        Show.show("refused in transaction", () -> transaction(connection, broken));
        Show.show("unknown tag", () -> sync.incr("nothing"));
        Show.show("set", () -> sync.set("order", "1"));
        Show.show("delete", () -> sync.del("order"));
        Show.show("unknown command", () -> call(connection, text(), "FROBNICATE", "order"));
        Show.show("select", () -> call(connection, text(), "SELECT", "0"));
        Show.show("select another", () -> call(connection, text(), "SELECT", "99"));
        Show.show("large incr", () -> sync.incr("large"));
        Show.show("large next", () -> call(connection, list(), "ID.NEXT", "large", "2"));
        Show.show("large get", () -> sync.get("large"));
        Show.show("cut", Show::cut);
        Show.show("incr after the cut", () -> Show.insist(() -> sync.incr("order")));
        Show.show("name after the cut", sync::clientGetname);
        if (password != null) {
            Show.show("wrong password", () -> connect(null, "wrong").sync().incr("order"));
            Show.show("no password", () -> connect(null, null).sync().incr("order"));
        }
    }

    /** Takes ids in every way: each round 1 + 7 + 20 + 5 of them. */
    private void take(String tag, int rounds) throws Exception {
        StatefulRedisConnection<String, String> connection = connect(null, null);
        for (int round = 0; round < rounds; round++) {
            List<Object> ids = new ArrayList<>();
            ids.add(connection.sync().incr(tag));
            ids.addAll(Show.run(connection.sync().incrby(tag, 7), 7));
            ids.addAll(pipeline(connection, Show.times(20, "INCR", tag)));
            ids.addAll(transaction(connection, Show.times(5, "INCR", tag)));
            Show.show("ids", () -> ids);
        }
    }
}
