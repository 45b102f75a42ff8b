import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RedisServer } from '../redis-server.js';

export interface TlsRedisOptions {
  /** The subject of the server's certificate in openssl's form, such as `DNS:redis.example`. Default: its address. */
  name?: string;
  /** Further command line arguments. */
  args?: readonly string[];
}

/** A server that speaks TLS on one port and plain Redis on another, with a certificate of a CA made for it. */
export class TlsRedis {
  private constructor(
    readonly server: RedisServer,
    /** The certificate that clients have to trust. */
    readonly ca: string,
    /** A CA that has nothing to do with it. */
    readonly otherCa: string,
    /** Where keys and certificates lie, until it is stopped. */
    readonly directory: string,
  ) {}

  static async start({ name = 'IP:127.0.0.1', args = [] }: TlsRedisOptions = {}): Promise<TlsRedis> {
    const directory = mkdtempSync(join(tmpdir(), 'floodgate-tls-'));
    try {
      const ca = makeCa(directory, 'ca');
      const otherCa = makeCa(directory, 'other-ca');
      const files = makeCertificate(directory, name);
      const server = await RedisServer.start({
        args: (port) => ['--tls-port', `${tlsPortOf(port)}`, ...files, '--tls-auth-clients', 'no', ...args],
      });
      return new TlsRedis(server, ca, otherCa, directory);
    } catch (error) {
      rmSync(directory, { recursive: true, force: true });
      throw error;
    }
  }

  get host(): string {
    return this.server.host;
  }

  /** The TLS port; `server.port` is plain. */
  get port(): number {
    return tlsPortOf(this.server.port);
  }

  get url(): string {
    return `rediss://${this.host}:${this.port}`;
  }

  async stop(): Promise<void> {
    await this.server.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Also below the ephemeral range; when it is taken, the server does not start and another pair is tried. */
function tlsPortOf(port: number): number {
  return port - 10_000;
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];

/** Answers with the certificate; the files are `<name>.crt` and `<name>.key`. */
function makeCa(directory: string, name: string): string {
  const files = ['-keyout', `${name}.key`, '-out', `${name}.crt`];
  openssl(directory, 'req', '-x509', ...NEW_KEY, '-subj', `/CN=${name}`, ...files);
  return readFileSync(join(directory, `${name}.crt`), 'utf8');
}

/** Of the CA `ca`; answers with the arguments that have a server use it. */
function makeCertificate(directory: string, name: string): string[] {
  writeFileSync(join(directory, 'name.cnf'), `subjectAltName=${name}\n`);
  openssl(directory, 'req', ...NEW_KEY.slice(0, -2), '-subj', '/CN=redis', '-keyout', 'redis.key', '-out', 'redis.csr');
  const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'name.cnf'];
  openssl(directory, 'x509', '-req', '-in', 'redis.csr', ...signed, '-out', 'redis.crt');
  const at = (file: string): string => join(directory, file);
  return ['--tls-cert-file', at('redis.crt'), '--tls-key-file', at('redis.key'), '--tls-ca-cert-file', at('ca.crt')];
}

function openssl(directory: string, ...args: string[]): void {
  execFileSync('openssl', args, { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] });
}
