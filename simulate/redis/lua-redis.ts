import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { lauxlib, lua, lualib } from 'lua-wasm-bindings/dist/lua.51.js';
import { type Call, DELETE, type Executed, type Executor } from './server.js';

const SHA1 = /^[0-9a-f]{40}$/;
const ONE_ROW = 1;

/** All servers share one Lua: it compiles each program once. */
const machine = lauxlib.luaL_newstate();
lualib.luaL_openlibs(machine);
run(readFileSync(new URL('database.lua', import.meta.url), 'utf8'));
let servers = 0;

/** A reply of Redis that is an error, as the clients of the library see it. */
class ReplyError extends Error {
  override readonly name = 'ReplyError';
}

/**
 * What Redis does: it runs the library's Lua programs in Lua 5.1, on the part of Redis that `database.lua` has. Test compares it with a
 * real Redis.
 */
export class LuaRedis implements Executor {
  private readonly name = String(++servers);

  execute({ script, keys, args }: Call, now: number): Executed {
    const [name, at, its] = [quoted(this.name), String(now), listOf(keys)];
    if (script === DELETE) return { reply: Number(run(`return del(${name}, ${at}, ${its})`)), rows: ONE_ROW };
    const [sha1, text] = SHA1.test(script) ? [script, 'nil'] : [hash('sha1', script), quoted(script)];
    const reply = run(`return run(${name}, ${at}, ${quoted(sha1)}, ${text}, ${its}, ${listOf(args)})`);
    if (reply.startsWith('-')) throw new ReplyError(reply.slice(1));
    return { reply: JSON.parse(reply) as unknown, rows: ONE_ROW };
  }

  /** Forgets the programs, as SCRIPT FLUSH and a restart do. */
  forgetPrograms(): void {
    run(`forget(${quoted(this.name)})`);
  }

  /** Forgets the data, too. The simulation calls it when a run has ended. */
  forgetAll(): void {
    run(`forget(${quoted(this.name)}, true)`);
  }
}

/** Runs a chunk of Lua, and returns what it returns, as text. */
function run(chunk: string): string {
  const failed = lauxlib.luaL_loadstring(machine, chunk) || lua.lua_pcall(machine, 0, 1, 0);
  const result = lua.lua_tostring(machine, -1);
  lua.lua_settop(machine, 0);
  if (failed !== 0) throw new Error(`the simulated Redis failed: ${result}`);
  return result;
}

function listOf(texts: readonly string[]): string {
  return `{${texts.map(quoted).join()}}`;
}

/** Any bytes as a literal of Lua, in ASCII without NUL: the bindings pass C strings. */
function quoted(text: string): string {
  const bytes = Buffer.from(text, 'utf8').toString('latin1');
  // oxlint-disable-next-line no-control-regex -- all that is not printable
  return `"${bytes.replace(/[^ !#-[\]-~]/g, (one) => `\\${String(one.charCodeAt(0)).padStart(3, '0')}`)}"`;
}
