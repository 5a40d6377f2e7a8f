// Puts go-redis to a server of the Redis protocol, and prints what it saw as lines of JSON.
//
//	clients check HOST:PORT default|2|3 [NAME [PASSWORD]]
//	clients take HOST:PORT default|2|3 TAG ROUNDS
//
// All numbers are printed as text, because they are ids. What the lines must say is for the caller
// to check.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/redis/go-redis/v9"
)

var background = context.Background()

func plain(value any) any {
	switch value := value.(type) {
	case error:
		return map[string]any{"type": fmt.Sprintf("%T", value), "text": value.Error()}
	case []any:
		all := make([]any, len(value))
		for at, one := range value {
			all[at] = plain(one)
		}
		return all
	case map[any]any:
		all := make(map[string]any, len(value))
		for key, one := range value {
			all[fmt.Sprint(key)] = plain(one)
		}
		return all
	case nil, bool:
		return value
	default:
		return fmt.Sprint(value)
	}
}

func print(line map[string]any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

func show[T any](step string, value T, err error) {
	switch {
	case errors.Is(err, redis.Nil):
		print(map[string]any{"step": step, "value": nil})
	case err != nil:
		print(map[string]any{"step": step, "error": plain(err)})
	default:
		print(map[string]any{"step": step, "value": plain(value)})
	}
}

func connect(address, protocol string) *redis.Options {
	options := &redis.Options{Addr: address}
	if protocol != "default" {
		options.Protocol = number(protocol)
	}
	return options
}

func number(text string) int {
	number, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return number
}

type commands [][]any

// Queues the commands, sends them, and gives the answer or error of each.
func execute(queue redis.Pipeliner, commands commands) ([]any, error) {
	for _, command := range commands {
		queue.Do(background, command...)
	}
	replies, err := queue.Exec(background)
	var answers []any
	failed := 0
	for _, reply := range replies {
		answer, err := reply.(*redis.Cmd).Result()
		if err != nil {
			failed++
			answers = append(answers, err)
		} else {
			answers = append(answers, answer)
		}
	}
	// The same error for all: they were not carried out.
	if failed == len(replies) {
		return nil, err
	}
	return answers, nil
}

func times(count int, command ...any) commands {
	all := make(commands, count)
	for at := range all {
		all[at] = command
	}
	return all
}

func check(address, protocol string, name, password string) {
	options := connect(address, protocol)
	options.ClientName, options.Password = name, password
	client := redis.NewClient(options)
	call := func(step string, words ...any) {
		value, err := client.Do(background, words...).Result()
		show(step, value, err)
	}
	text := func(step string, reply *redis.StringCmd) { show(step, reply.Val(), reply.Err()) }
	integer := func(step string, reply *redis.IntCmd) { show(step, reply.Val(), reply.Err()) }
	pipeline := func(step string, commands commands) {
		answers, err := execute(client.Pipeline(), commands)
		show(step, any(answers), err)
	}
	transaction := func(step string, commands commands) {
		answers, err := execute(client.TxPipeline(), commands)
		show(step, any(answers), err)
	}

	call("hello", "HELLO")
	call("ping", "PING")
	text("name", client.ClientGetName(background))
	integer("incr", client.Incr(background, "order"))
	integer("incrby", client.IncrBy(background, "order", 10))
	text("get", client.Get(background, "order"))
	text("get unknown", client.Get(background, "nothing"))
	call("next", "ID.NEXT", "order")
	call("next many", "ID.NEXT", "order", 3)
	call("range", "ID.RANGE", "order", 4)
	pipeline("pipeline", times(100, "INCR", "order"))
	mixed := commands{{"INCR", "order"}, {"INCR", "user"}, {"INCRBY", "order", 5}, {"GET", "order"}}
	pipeline("mixed pipeline", mixed)
	broken := commands{{"INCR", "order"}, {"SET", "order", 1}, {"INCR", "order"}}
	pipeline("refused in pipeline", broken)
	transaction("transaction", mixed)
	transaction("refused in transaction", broken)
	integer("unknown tag", client.Incr(background, "nothing"))
	set := client.Set(background, "order", 1, 0)
	show("set", set.Val(), set.Err())
	integer("delete", client.Del(background, "order"))
	call("unknown command", "FROBNICATE", "order")
	call("select", "SELECT", 0)
	call("select another", "SELECT", 99)
	integer("large incr", client.Incr(background, "large"))
	call("large next", "ID.NEXT", "large", 2)
	text("large get", client.Get(background, "large"))
	_, err := bufio.NewReader(os.Stdin).ReadString('\n')
	show("cut", "", err)
	integer("incr after the cut", client.Incr(background, "order"))
	text("name after the cut", client.ClientGetName(background))
	if password != "" {
		wrong := connect(address, protocol)
		wrong.Password = "wrong"
		integer("wrong password", redis.NewClient(wrong).Incr(background, "order"))
		nobody := connect(address, protocol)
		integer("no password", redis.NewClient(nobody).Incr(background, "order"))
	}
}

// Takes ids in every way: each round 1 + 7 + 20 + 5 of them.
func take(address, protocol, tag string, rounds int) {
	client := redis.NewClient(connect(address, protocol))
	for round := 0; round < rounds; round++ {
		ids, err := takeSome(client, tag)
		show("ids", any(ids), err)
	}
}

func takeSome(client *redis.Client, tag string) ([]any, error) {
	first, err := client.Incr(background, tag).Result()
	if err != nil {
		return nil, err
	}
	ids := []any{first}
	last, err := client.IncrBy(background, tag, 7).Result()
	if err != nil {
		return nil, err
	}
	for id := last - 6; id <= last; id++ {
		ids = append(ids, id)
	}
	answers, err := execute(client.Pipeline(), times(20, "INCR", tag))
	if err != nil {
		return nil, err
	}
	ids = append(ids, answers...)
	answers, err = execute(client.TxPipeline(), times(5, "INCR", tag))
	return append(ids, answers...), err
}

func main() {
	words := os.Args[2:]
	switch os.Args[1] {
	case "check":
		// What is not given is empty.
		words = append(words, "", "")
		check(words[0], words[1], words[2], words[3])
	case "take":
		take(words[0], words[1], words[2], number(words[3]))
	}
}
