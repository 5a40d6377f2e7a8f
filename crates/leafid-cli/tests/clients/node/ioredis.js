// Puts ioredis to a server of the Redis protocol, and prints what it saw as lines of JSON.
//
//     ioredis.js check HOST:PORT default|2|3 [NAME [PASSWORD]]
//     ioredis.js take HOST:PORT default|2|3 TAG ROUNDS
//
// What the lines must say is for the caller to check.

import { Redis } from "ioredis";
import { cut, insist, run, show } from "./show.js";

function connect(address, protocol, more = {}) {
  const [host, port] = address.split(":");
  const options = { host, port: Number(port), ...more };
  if (protocol !== "default") {
    options.protocol = Number(protocol);
  }
  const client = new Redis(options);
  // Without a listener errors of the connection are written out.
  client.on("error", () => {});
  return client;
}

// Answers and errors of a pipeline or transaction, one for each command.
async function outcomes(queue, commands) {
  commands.forEach((command) => queue.call(...command));
  const pairs = await queue.exec();
  return pairs.map(([error, value]) => error ?? value);
}

// Does something over a connection of its own.
async function apart(address, protocol, more, run) {
  const client = connect(address, protocol, more);
  try {
    return await run(client);
  } finally {
    client.disconnect();
  }
}

async function check(address, protocol, name, password) {
  const options = { connectionName: name, password };
  const client = connect(address, protocol, options);
  const call = (...words) => client.call(...words);
  const pipeline = (commands) => outcomes(client.pipeline(), commands);
  const transaction = (commands) => outcomes(client.multi(), commands);
  await show("hello", () => call("HELLO"));
  await show("ping", () => client.ping());
  await show("name", () => client.client("GETNAME"));
  await show("incr", () => client.incr("order"));
  await show("incrby", () => client.incrby("order", 10));
  await show("get", () => client.get("order"));
  await show("get unknown", () => client.get("nothing"));
  await show("next", () => call("ID.NEXT", "order"));
  await show("next many", () => call("ID.NEXT", "order", "3"));
  await show("range", () => call("ID.RANGE", "order", "4"));
  await show("pipeline", () => pipeline(Array(100).fill(["INCR", "order"])));
  const mixed = [["INCR", "order"], ["INCR", "user"], ["INCRBY", "order", "5"], ["GET", "order"]];
  await show("mixed pipeline", () => pipeline(mixed));
  const broken = [["INCR", "order"], ["SET", "order", "1"], ["INCR", "order"]];
  await show("refused in pipeline", () => pipeline(broken));
  await show("transaction", () => transaction(mixed));
  await show("refused in transaction", () => transaction(broken));
  await show("unknown tag", () => client.incr("nothing"));
  await show("set", () => client.set("order", "1"));
  await show("delete", () => client.del("order"));
  await show("unknown command", () => call("FROBNICATE", "order"));
  await show("select", () => client.select(0));
  // A client remembers what it selected, and selects it again when it connects again.
  const select = (other) => other.select(99);
  await show("select another", () => apart(address, protocol, options, select));
  // Numbers of JavaScript are exact up to 2^53, so integers are asked for as text.
  const exact = { ...options, stringNumbers: true };
  const large = (other) => other.incr("large");
  await show("large incr", () => apart(address, protocol, exact, large));
  await show("large next", () => call("ID.NEXT", "large", "2"));
  await show("large get", () => client.get("large"));
  await show("cut", cut);
  await show("incr after the cut", () => insist(() => client.incr("order")));
  await show("name after the cut", () => client.client("GETNAME"));
  if (password) {
    const incr = (other) => other.incr("order");
    const nobody = { retryStrategy: null };
    const wrong = { password: "wrong", ...nobody };
    await show("wrong password", () => apart(address, protocol, wrong, incr));
    await show("no password", () => apart(address, protocol, nobody, incr));
  }
  client.disconnect();
}

// Takes ids in every way: each round 1 + 7 + 20 + 5 of them.
async function take(address, protocol, tag, rounds) {
  const client = connect(address, protocol);
  for (let round = 0; round < Number(rounds); round += 1) {
    const ids = [await client.incr(tag)];
    ids.push(...run(await client.incrby(tag, 7), 7));
    ids.push(...(await outcomes(client.pipeline(), Array(20).fill(["INCR", tag]))));
    ids.push(...(await outcomes(client.multi(), Array(5).fill(["INCR", tag]))));
    await show("ids", () => ids);
  }
  client.disconnect();
}

const [what, ...words] = process.argv.slice(2);
await { check, take }[what](...words);
