import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A key and a self-signed certificate for 127.0.0.1. */
export function selfSigned(): { readonly key: string; readonly cert: string } {
  const directory = mkdtempSync(join(tmpdir(), 'floodgate-https-'));
  try {
    const [key, cert] = ['key.pem', 'cert.pem'].map((name) => join(directory, name)) as [string, string];
    const subject = ['-subj', '/CN=127.0.0.1', '-days', '2', '-keyout', key, '-out', cert];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject], { stdio: 'ignore' });
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
