import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** An application of Express as Nest makes it, behind a server of HTTP/2, and one request. */
const SCRIPT = `
const { connect, createServer } = require('node:http2');
const { ExpressAdapter } = require('@nestjs/platform-express');
const express = new ExpressAdapter().getInstance();
express.get('/', (request, response) => response.send('answered'));
const server = createServer(express).listen(0, '127.0.0.1', () => {
  const session = connect('http://127.0.0.1:' + server.address().port);
  const stream = session.request({ ':path': '/' });
  stream.on('data', (text) => {
    console.log(String(text));
    process.exit();
  });
});
`;

// Express replaces the prototypes of requests and responses by those of HTTP/1. The suite of moments needs a transport of its own
// as soon as this changes.
it('Express does not run over HTTP/2, so that the suite of moments has no such transport', async () => {
  const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) => {
    execFile(process.execPath, ['-e', SCRIPT], { cwd: ROOT }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, output: stdout + stderr }),
    );
  });
  expect(output).toMatch(/TypeError: Cannot (read properties|convert) .*undefined/);
  expect(output).not.toContain('answered');
  expect(code).toBe(1);
});
