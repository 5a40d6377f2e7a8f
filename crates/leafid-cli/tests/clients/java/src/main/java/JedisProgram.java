import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import redis.clients.jedis.AbstractTransaction;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.commands.ProtocolCommand;

/**
 * Puts Jedis to a server of the Redis protocol, and prints what it saw as lines of JSON.
 *
 * <pre>
 * JedisProgram check HOST:PORT default|2|3 [NAME [PASSWORD]]
 * JedisProgram take HOST:PORT default|2|3 TAG ROUNDS
 * </pre>
 *
 * What the lines must say is for the caller to check.
 */
public final class JedisProgram {
    private final String address;
    private final String protocol;

    private JedisProgram(String address, String protocol) {
        this.address = address;
        this.protocol = protocol;
    }

    public static void main(String[] words) {
        JedisProgram program = new JedisProgram(words[1], words[2]);
        if (words[0].equals("check")) {
            program.check(words.length > 3 ? words[3] : null, words.length > 4 ? words[4] : null);
        } else {
            program.take(words[3], Integer.parseInt(words[4]));
        }
    }

    private RedisClient connect(String name, String password) {
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder();
        switch (protocol) {
            case "2" -> config.resp2();
            case "3" -> config.resp3();
            default -> { }
        }
        config.password(password).clientName(name);
        return RedisClient.builder()
            .hostAndPort(HostAndPort.from(address))
            .clientConfig(config.build())
            .build();
    }

    private static ProtocolCommand command(String name) {
        return name::getBytes;
    }

    private static String[] arguments(String[] command) {
        return Arrays.copyOfRange(command, 1, command.length);
    }

    private static Object call(RedisClient client, String... command) {
        CommandArguments arguments = new CommandArguments(command(command[0]));
        return client.executeCommand(arguments.addObjects((Object[]) arguments(command)));
    }

    private static List<Object> pipeline(RedisClient client, String[]... commands) {
        try (Pipeline pipeline = client.pipelined()) {
            for (String[] command : commands) {
                pipeline.sendCommand(command(command[0]), arguments(command));
            }
            return pipeline.syncAndReturnAll();
        }
    }

    private static List<Object> transaction(RedisClient client, String[]... commands) {
        try (AbstractTransaction transaction = client.multi()) {
            for (String[] command : commands) {
                transaction.sendCommand(command(command[0]), arguments(command));
            }
            return transaction.exec();
        }
    }

    private void check(String name, String password) {
        RedisClient client = connect(name, password);
        Show.show("hello", () -> call(client, "HELLO"));
        Show.show("ping", client::ping);
        Show.show("name", () -> call(client, "CLIENT", "GETNAME"));
        Show.show("incr", () -> client.incr("order"));
        Show.show("incrby", () -> client.incrBy("order", 10));
        Show.show("get", () -> client.get("order"));
        Show.show("get unknown", () -> client.get("nothing"));
        Show.show("next", () -> call(client, "ID.NEXT", "order"));
        Show.show("next many", () -> call(client, "ID.NEXT", "order", "3"));
        Show.show("range", () -> call(client, "ID.RANGE", "order", "4"));
        Show.show("pipeline", () -> pipeline(client, Show.times(100, "INCR", "order")));
        String[][] mixed = {
            {"INCR", "order"}, {"INCR", "user"}, {"INCRBY", "order", "5"}, {"GET", "order"}
        };
        Show.show("mixed pipeline", () -> pipeline(client, mixed));
        String[][] broken = {{"INCR", "order"}, {"SET", "order", "1"}, {"INCR", "order"}};
        Show.show("refused in pipeline", () -> pipeline(client, broken));
        Show.show("transaction", () -> transaction(client, mixed));
        Show.show("refused in transaction", () -> transaction(client, broken));
        Show.show("unknown tag", () -> client.incr("nothing"));
        Show.show("set", () -> client.set("order", "1"));
        Show.show("delete", () -> client.del("order"));
        Show.show("unknown command", () -> call(client, "FROBNICATE", "order"));
        Show.show("select", () -> call(client, "SELECT", "0"));
        Show.show("select another", () -> call(client, "SELECT", "99"));
        Show.show("large incr", () -> client.incr("large"));
        Show.show("large next", () -> call(client, "ID.NEXT", "large", "2"));
        Show.show("large get", () -> client.get("large"));
        Show.show("cut", Show::cut);
        Show.show("incr after the cut", () -> Show.insist(() -> client.incr("order")));
        Show.show("name after the cut", () -> call(client, "CLIENT", "GETNAME"));
        if (password != null) {
            Show.show("wrong password", () -> connect(null, "wrong").incr("order"));
            Show.show("no password", () -> connect(null, null).incr("order"));
        }
        client.close();
    }

    /** Takes ids in every way: each round 1 + 7 + 20 + 5 of them. */
    private void take(String tag, int rounds) {
        RedisClient client = connect(null, null);
        for (int round = 0; round < rounds; round++) {
            List<Object> ids = new ArrayList<>();
            ids.add(client.incr(tag));
            ids.addAll(Show.run(client.incrBy(tag, 7), 7));
            ids.addAll(pipeline(client, Show.times(20, "INCR", tag)));
            ids.addAll(transaction(client, Show.times(5, "INCR", tag)));
            Show.show("ids", () -> ids);
        }
        client.close();
    }
}
