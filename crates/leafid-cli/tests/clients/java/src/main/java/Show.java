import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/** Prints what a client saw as lines of JSON. All numbers are text there, because they are ids. */
final class Show {
    private static final Gson GSON =
        new GsonBuilder().serializeNulls().disableHtmlEscaping().create();

    private Show() {}

    static void show(String step, Callable<?> run) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("step", step);
        try {
            line.put("value", plain(run.call()));
        } catch (Exception error) {
            line.put("error", plain(error));
        }
        System.out.println(GSON.toJson(line));
    }

    private static Object plain(Object value) {
        if (value instanceof Throwable error) {
            Throwable cause = error;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            Map<String, Object> fields = new LinkedHashMap<>();
            fields.put("type", error.getClass().getSimpleName());
            fields.put("text", String.valueOf(cause.getMessage()));
            return fields;
        }
        if (value instanceof byte[] bytes) {
            return new String(bytes, StandardCharsets.UTF_8);
        }
        if (value instanceof Map<?, ?> map) {
            return map(map.entrySet());
        }
        if (value instanceof List<?> list) {
            // Jedis gives a map as a list of pairs.
            if (!list.isEmpty() && list.get(0) instanceof Map.Entry<?, ?>) {
                return map(list);
            }
            List<Object> all = new ArrayList<>();
            list.forEach(one -> all.add(plain(one)));
            return all;
        }
        return value == null || value instanceof Boolean ? value : String.valueOf(value);
    }

    private static Object map(Iterable<?> pairs) {
        Map<String, Object> all = new LinkedHashMap<>();
        for (Object pair : pairs) {
            Map.Entry<?, ?> entry = (Map.Entry<?, ?>) pair;
            all.put(String.valueOf(plain(entry.getKey())), plain(entry.getValue()));
        }
        return all;
    }

    /** Calls until it goes well: what was under way when a connection broke fails. */
    static <T> T insist(Callable<T> run) throws Exception {
        for (int tries = 0; ; tries++) {
            try {
                return run.call();
            } catch (Exception error) {
                if (tries == 200) {
                    throw error;
                }
                Thread.sleep(20);
            }
        }
    }

    /** Waits until the caller says that it cut the connections. */
    static Object cut() throws Exception {
        return System.in.read() < 0 ? "no word" : null;
    }

    /** The same command so many times. */
    static String[][] times(int count, String... command) {
        String[][] all = new String[count][];
        Arrays.fill(all, command);
        return all;
    }

    /** The numbers that end with this one. */
    static List<Object> run(long last, int count) {
        List<Object> all = new ArrayList<>();
        for (long id = last - count + 1; id <= last; id++) {
            all.add(id);
        }
        return all;
    }
}
