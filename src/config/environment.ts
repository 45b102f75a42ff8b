import { isIP } from 'node:net';
import { hostName } from '../http/host-name.js';

/** A variable whose value cannot be used; the message is one line for the operator. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';

  constructor(variable: string, value: string, expected: string) {
    super(`${variable} is ${JSON.stringify(value)}, expected ${expected}`);
  }
}

export type Variables = Readonly<Record<string, string | undefined>>;

/** Typed reading of environment variables. An empty variable counts as unset: compose files pass those. */
export class Environment {
  constructor(private readonly variables: Variables) {}

  integer(name: string, fallback: number, { min, max }: { min: number; max: number }): number {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new EnvironmentError(name, text, `a whole number from ${min} to ${max}`);
    }
    return value;
  }

  number(name: string, fallback: number, { min, max }: { min: number; max: number }): number {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = Number(text);
    if (!/^\d+(\.\d+)?$/.test(text) || value < min || value > max) {
      throw new EnvironmentError(name, text, `a number from ${min} to ${max}`);
    }
    return value;
  }

  /** The fallback, which is the first choice unless said, unless the variable says another. */
  oneOf<T extends string>(name: string, choices: readonly [T, ...T[]], fallback: NoInfer<T> = choices[0]): T {
    const text = this.text(name) ?? fallback;
    const choice = choices.find((each) => each === text);
    if (choice !== undefined) return choice;
    const quoted = choices.map((each) => `"${each}"`);
    throw new EnvironmentError(name, text, `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`);
  }

  url(name: string, protocols: readonly string[]): string | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    if (!URL.canParse(text) || !protocols.includes(new URL(text).protocol)) {
      // The value may hold a password, and boot errors end up in logs.
      const masked = text.replace(/\/\/[^/]*@/, '//***@');
      throw new EnvironmentError(name, masked, `a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`);
    }
    return text;
  }

  /** An IP address, or one of the words. */
  address(name: string, fallback: string, words: readonly string[]): string {
    const text = this.text(name) ?? fallback;
    if (words.includes(text) || isIP(text) !== 0) return text;
    throw new EnvironmentError(name, text, `an IP address or ${words.map((word) => `"${word}"`).join(' or ')}`);
  }

  /** Names of hosts without ports, separated by commas. */
  hosts(name: string): readonly string[] {
    const names = (this.text(name) ?? '').split(',').map((one) => one.trim());
    return names
      .filter((one) => one !== '')
      .map((one) => {
        const host = /:\d+$/.test(one) && !one.endsWith(']') ? undefined : hostName(one);
        if (host !== undefined) return host;
        throw new EnvironmentError(name, one, 'names of hosts without ports, separated by commas');
      });
  }

  private text(name: string): string | undefined {
    return this.variables[name]?.trim() || undefined;
  }
}
