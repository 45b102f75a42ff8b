import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RedisServer } from '../../support/redis-server.js';
import { newSecret, podOf, type Secret } from './manifests.js';

/** A user with all rights. Only the tests have it, to empty and to inspect the server. */
const ADMIN = 'tests';

/** The server of deploy/kubernetes/redis.yaml: its arguments and its users. The tests choose address, port and directory. */
export class ManifestRedis implements AsyncDisposable {
  private constructor(
    readonly server: RedisServer,
    readonly secret: Secret,
    private readonly directory: string,
  ) {}

  static async start(secret: Secret = newSecret()): Promise<ManifestRedis> {
    const [{ command, args = [], volumeMounts = [] }] = podOf('rate-limit-redis').containers;
    if (command?.join() !== 'redis-server') throw new Error(`The command of the manifest is ${command?.join(' ')}`);
    const users = podOf('rate-limit-redis').volumes!.find(({ name }) => name === 'users')!.secret!;
    const { mountPath } = volumeMounts.find(({ name }) => name === 'users')!;
    const directory = mkdtempSync(join(tmpdir(), 'floodgate-users-'));
    for (const { key, path } of users.items) {
      writeFileSync(join(directory, path), `${secret.stringData[key]}user ${ADMIN} on nopass ~* &* +@all\n`);
    }
    try {
      const server = await RedisServer.start({ args: args.map((arg) => arg.replace(mountPath, directory)) });
      return new ManifestRedis(server, secret, directory);
    } catch (error) {
      rmSync(directory, { recursive: true });
      throw error;
    }
  }

  /** The application's URL, with the host and the port that this server has here. */
  get url(): string {
    const url = new URL(this.secret.stringData['redis-url']!);
    url.hostname = this.server.host;
    url.port = `${this.server.port}`;
    return url.href;
  }

  get adminUrl(): string {
    return Object.assign(new URL(this.server.url), { username: ADMIN, password: 'any' }).href;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop();
    rmSync(this.directory, { recursive: true });
  }
}
