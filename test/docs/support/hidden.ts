// Classes that the pages' samples name, and that their readers have: the pages import them in hidden code.
import { type CanActivate, Controller, type ExecutionContext, Get, Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { RateLimit, type RateLimitRequest } from 'nestjs-floodgate';
import { Strategy } from 'passport-custom';

/** A route with a limit of its own. */
@Controller('rides')
export class RidesController {
  @Get()
  @RateLimit({ algorithm: 'fixed-window', limit: 1, window: '1h' })
  list(): string[] {
    return [];
  }
}

/** Admits operators with the token of the samples. */
@Injectable()
export class SupportGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return context.switchToHttp().getRequest<RateLimitRequest>().headers.authorization === 'Bearer support';
  }
}

/** Each token is a user. */
@Injectable()
export class TokenStrategy extends PassportStrategy(Strategy, 'token') {
  async validate(request: { headers: { authorization?: string } }): Promise<{ id: string } | undefined> {
    const { authorization } = request.headers;
    return authorization === undefined ? undefined : { id: authorization };
  }
}

/** The resolver of the user that a guard found. */
export const user = {
  kind: 'user',
  resolve: (request: RateLimitRequest<{ user?: { id: string } }>): string | undefined => request.user?.id,
};
