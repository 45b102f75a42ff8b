import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable, UnauthorizedException } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { HttpAdapterHost } from '@nestjs/core';
import { type Identity, ipIdentity, RateLimiter, RateLimitExceededException } from 'nestjs-floodgate';
import type { Configuration } from '../config/configuration.js';
import { forbidden } from '../http/forbidden.js';
import { ADMIN_TOKENS } from '../limits/policies.js';

/**
 * Allows requests with the token of `ADMIN_TOKEN`: `Authorization: Bearer <token>` (RFC 6750).
 *
 * The routes behind it skip the application's limiter, so that no limit keeps an operator from changing it. Guesses are limited here: each
 * token is charged before it is compared, so that parallel guesses cannot pass, and the right one is refunded.
 */
@Injectable()
export class OperatorGuard implements CanActivate {
  private readonly digest: Buffer | undefined;
  private readonly address = ipIdentity();

  constructor(
    config: ConfigService<Configuration, true>,
    private readonly limiter: RateLimiter,
    private readonly adapterHost: HttpAdapterHost,
  ) {
    const token = config.get('adminToken', { infer: true });
    this.digest = token === undefined ? undefined : digestOf(token);
  }

  /**
   * @throws ForbiddenException in a process without `ADMIN_TOKEN`
   * @throws UnauthorizedException without a token, or with a wrong one
   * @throws RateLimitExceededException after too many wrong tokens, also for the right one: a guess must not learn which it is
   */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.digest === undefined) {
      throw forbidden(
        'admin_disabled',
        'Limits cannot be operated at run time: start the process with ADMIN_TOKEN, a secret of at least 16 characters',
      );
    }
    const request = context.switchToHttp().getRequest<IncomingMessage>();
    const token = tokenOf(request);
    if (token === undefined) throw this.unauthorized(context, 'Send the token: Authorization: Bearer <ADMIN_TOKEN>');
    const guess = await this.limiter.reserve(ADMIN_TOKENS, this.addressOf(request), { cost: 1 });
    if (!guess.allowed) throw new RateLimitExceededException(guess.decision);
    if (!timingSafeEqual(this.digest, digestOf(token))) {
      throw this.unauthorized(context, 'The token is not the one of ADMIN_TOKEN');
    }
    await guess.cancel();
    return true;
  }

  private addressOf(request: IncomingMessage): Identity {
    const value = this.address.resolve(request);
    // A connection that is lost already has no address.
    return value === undefined ? { kind: 'unknown', value: 'address' } : { kind: 'ip', value };
  }

  private unauthorized(context: ExecutionContext, message: string): UnauthorizedException {
    this.adapterHost.httpAdapter.setHeader(
      context.switchToHttp().getResponse(),
      'WWW-Authenticate',
      'Bearer realm="limits"',
    );
    return new UnauthorizedException({ statusCode: 401, error: 'unauthorized', message });
  }
}

function tokenOf({ headers }: IncomingMessage): string | undefined {
  return /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
}

/** Digests have one length, as `timingSafeEqual` needs it: the length of the token stays unknown, too. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
