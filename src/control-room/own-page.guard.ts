import type { IncomingMessage } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { forbidden } from './forbidden.js';

/** For what another site's page has no business with: the stream, which takes a viewer's place, and what changes something. */
@Injectable()
export class OwnPageGuard implements CanActivate {
  /** @throws ForbiddenException */
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<IncomingMessage>();
    const site = headers['sec-fetch-site'];
    // `none`: the address was typed in.
    const fetched = site === undefined || site === 'same-origin' || site === 'none';
    if (fetched && isOwnOrigin(headers)) return true;
    throw forbidden('cross_origin', 'Only the control room itself may do this, and no page of another origin');
  }
}

/** Whether `Origin`, where the browser sends one, names the host that was asked. */
function isOwnOrigin({ origin, host }: IncomingMessage['headers']): boolean {
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  const { protocol, host: from } = new URL(origin);
  // By the origin's own protocol, whose default port both leave out: TLS may end before this process.
  const asked = `${protocol}//${host}`;
  return /^https?:$/.test(protocol) && URL.canParse(asked) && new URL(asked).host === from;
}
