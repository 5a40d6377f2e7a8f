// Puts node-redis to a server of the Redis protocol, and prints what it saw as lines of JSON.
//
//     node_redis.js check HOST:PORT default|2|3 [NAME [PASSWORD]]
//     node_redis.js take HOST:PORT default|2|3 TAG ROUNDS
//
// What the lines must say is for the caller to check.

import { RESP_TYPES, createClient } from "redis";
import { cut, insist, run, settled, show } from "./show.js";

async function connect(address, protocol, more = {}) {
  const options = { url: `redis://${address}`, ...more };
  if (protocol !== "default") {
    options.RESP = Number(protocol);
  }
  const client = createClient(options);
  // Without a listener an error ends the process.
  client.on("error", () => {});
  await client.connect();
  return client;
}

// Commands that are given in one turn leave in one write.
function pipeline(client, commands) {
  return settled(commands.map((command) => client.sendCommand(command)));
}

async function transaction(client, commands) {
  const multi = client.multi();
  commands.forEach((command) => multi.addCommand(command));
  try {
    return await multi.exec();
  } catch (error) {
    // Some of the commands failed: the answers of all are in the error.
    if (error.replies === undefined) {
      throw error;
    }
    return error.replies;
  }
}

async function attempt(address, protocol, more) {
  const client = await connect(address, protocol, more);
  try {
    return await client.incr("order");
  } finally {
    client.destroy();
  }
}

async function check(address, protocol, name, password) {
  const client = await connect(address, protocol, { name, password });
  const call = (...words) => client.sendCommand(words);
  await show("hello", () => call("HELLO"));
  await show("ping", () => client.ping());
  await show("name", () => client.clientGetName());
  await show("incr", () => client.incr("order"));
  await show("incrby", () => client.incrBy("order", 10));
  await show("get", () => client.get("order"));
  await show("get unknown", () => client.get("nothing"));
  await show("next", () => call("ID.NEXT", "order"));
  await show("next many", () => call("ID.NEXT", "order", "3"));
  await show("range", () => call("ID.RANGE", "order", "4"));
  await show("pipeline", () => pipeline(client, Array(100).fill(["INCR", "order"])));
  const mixed = [["INCR", "order"], ["INCR", "user"], ["INCRBY", "order", "5"], ["GET", "order"]];
  await show("mixed pipeline", () => pipeline(client, mixed));
  const broken = [["INCR", "order"], ["SET", "order", "1"], ["INCR", "order"]];
  await show("refused in pipeline", () => pipeline(client, broken));
  await show("transaction", () => transaction(client, mixed));
  await show("refused in transaction", () => transaction(client, broken));
  await show("unknown tag", () => client.incr("nothing"));
  await show("set", () => client.set("order", "1"));
  await show("delete", () => client.del("order"));
  await show("unknown command", () => call("FROBNICATE", "order"));
  await show("select", () => client.select(0));
  await show("select another", () => client.select(99));
  // Numbers of JavaScript are exact up to 2^53, so integers are asked for as text.
  const exact = client.withTypeMapping({ [RESP_TYPES.NUMBER]: String });
  await show("large incr", () => exact.incr("large"));
  await show("large next", () => call("ID.NEXT", "large", "2"));
  await show("large get", () => client.get("large"));
  await show("cut", cut);
  await show("incr after the cut", () => insist(() => client.incr("order")));
  await show("name after the cut", () => client.clientGetName());
  if (password) {
    const once = { socket: { reconnectStrategy: false } };
    await show("wrong password", () => attempt(address, protocol, { password: "wrong", ...once }));
    await show("no password", () => attempt(address, protocol, once));
  }
  client.destroy();
}

// Takes ids in every way: each round 1 + 7 + 20 + 5 of them.
async function take(address, protocol, tag, rounds) {
  const client = await connect(address, protocol);
  for (let round = 0; round < Number(rounds); round += 1) {
    const ids = [await client.incr(tag)];
    ids.push(...run(await client.incrBy(tag, 7), 7));
    ids.push(...(await pipeline(client, Array(20).fill(["INCR", tag]))));
    ids.push(...(await transaction(client, Array(5).fill(["INCR", tag]))));
    await show("ids", () => ids);
  }
  client.destroy();
}

const [what, ...words] = process.argv.slice(2);
await { check, take }[what](...words);
