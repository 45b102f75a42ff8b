import type { INestApplication } from '@nestjs/common';
import { McpController, McpStrategy, StreamableHttpTransport, Tool } from '@rekog/mcp-nest';
import { RateLimitModule } from 'nestjs-floodgate';
import { type Platform, start } from '../../support/http-app.js';
import { handlers, PLAIN } from '../support/stage.js';
import type { Transport } from '../support/transport.js';
import { ANSWER, servedOverHttp1 } from './http1.js';
import { endingOfHandler } from './sockets.js';

const Tools = handlers(PLAIN, (work) => Tool({ name: work, description: work }));
McpController()(Tools);

/** Serves the tools of an application at `/mcp`, once it boots. */
export function serveMcp(app: INestApplication, options: { readonly statefulMode?: boolean } = {}): Promise<unknown> {
  const strategy = new McpStrategy({
    name: 'rides',
    version: '1.0.0',
    logging: false,
    transports: [new StreamableHttpTransport(options)],
  });
  strategy.setHttpAdapter(app.getHttpAdapter());
  app.connectMicroservice({ strategy }, { inheritAppConfig: true });
  return app.startAllMicroservices();
}

/** The call of a tool as a client of the older protocol sends it, without a session. */
function callOf(work: string): string {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: work, arguments: {} } };
  const body = JSON.stringify(call);
  return (
    'POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n' +
    `Content-Length: ${body.length}\r\n\r\n${body}`
  );
}

/** Tools of the Model Context Protocol: they end with their handler, or when the connection closes before. */
export function mcpTools(platform: Platform): Transport {
  return {
    name: `MCP on ${platform}`,
    value: ANSWER,
    ways: ['FIN', 'RST', 'stays'],
    without: { stream: 'a tool answers once' },
    ending: endingOfHandler(ANSWER),
    async open(options) {
      let serving: Promise<unknown> | undefined;
      const app = await start(
        platform,
        { imports: [RateLimitModule.forRoot(options)], controllers: [Tools] },
        { configure: (nest) => (serving = serveMcp(nest)) },
      );
      await serving;
      return servedOverHttp1(app, callOf);
    },
  };
}
