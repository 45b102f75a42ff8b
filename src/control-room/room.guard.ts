import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { ALL_ADDRESSES, type Configuration } from '../config/configuration.js';
import { hostName, isLoopback } from '../http/host-name.js';
import { forbidden } from './forbidden.js';

/**
 * For everything of the control room: the request names this machine, or a host of `CONTROL_ROOM_HOSTS`.
 *
 * A page whose name is rebound to this machine's address (DNS rebinding) is of the same origin for its browser. Only the name in
 * `Host` gives it away. The port is not compared: port forwarding changes it.
 */
@Injectable()
export class RoomGuard implements CanActivate {
  private readonly names: ReadonlySet<string | undefined>;

  constructor(config: ConfigService<Configuration, true>) {
    const bind = config.get('bind', { infer: true });
    const own = bind === ALL_ADDRESSES ? [] : [hostName(isIPv6(bind) ? `[${bind}]` : bind)];
    this.names = new Set(
      [...own, ...config.get('controlRoomHosts', { infer: true })].filter(
        (name) => name !== '0.0.0.0' && name !== '[::]',
      ),
    );
  }

  /** @throws ForbiddenException */
  canActivate(context: ExecutionContext): boolean {
    // Never X-Forwarded-Host: a page can send it.
    const name = hostName(context.switchToHttp().getRequest<IncomingMessage>().headers.host);
    if (name !== undefined && (isLoopback(name) || this.names.has(name))) return true;
    throw forbidden(
      'host_not_allowed',
      'The control room is reached as localhost, or by a name that the variable CONTROL_ROOM_HOSTS lists',
    );
  }
}
