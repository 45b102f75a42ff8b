import type { CanActivate } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { RateLimitAdminModule, type RateLimitAdminOptions, RateLimitGuard, RateLimitModule } from 'nestjs-floodgate';
import { start } from '../../support/http-app.js';
import { ask, GUARDED, LIMITS, serve, SupportGuard } from '../support/admin-service.js';

describe('RateLimitAdminModule.register', () => {
  const register = (options: unknown) => () => RateLimitAdminModule.register(options as RateLimitAdminOptions);

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'got none: anybody could lift limits'],
    ['no guards', {}, 'guards must have at least one guard that knows the operators, such as [SupportGuard], got none'],
    ['the limiting guard alone', { guards: [RateLimitGuard] }, 'got RateLimitGuard, which lets every client in'],
    [
      'one guard outside of a list',
      { guards: SupportGuard },
      'guards must be an array such as [SupportGuard], got a function',
    ],
    [
      'undefined',
      { guards: [SupportGuard, undefined] },
      'guards[1] must be a class or an object with canActivate, got undefined (is it',
    ],
    ['a misspelt option', { guard: [SupportGuard] }, "'guard' is not an option. Did you mean guards?"],
    ['no path', { ...GUARDED, path: '' }, "path must be the path of a controller, such as 'admin/limits', got ''"],
    ['an author', { ...GUARDED, author: 'eve' }, "author must be a function of the request, got 'eve'"],
    ['an array', [SupportGuard], 'options must be an object such as { guards: [SupportGuard] }, got an array'],
  ])('refuses %s', (_, options, message) => {
    expect(register(options)).toThrow(message);
    expect(register(options)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^FG_(ADMIN_GUARD|INVALID_OPTION|UNKNOWN_OPTION)$/) }),
    );
  });

  it('stops the boot without RateLimitModule, and where the class is imported without options', async () => {
    const boot = (imports: object[]) => start('Express', { imports: imports as never });
    await expect(boot([RateLimitAdminModule.register(GUARDED)])).rejects.toThrow(
      'RateLimitAdminModule: needs RateLimitModule to be imported, too',
    );
    await expect(boot([RateLimitModule.forRoot(), RateLimitAdminModule])).rejects.toThrow(
      'RateLimitAdminModule: is imported without options: import RateLimitAdminModule.register({ guards: [...] })',
    );
  });

  it('takes a guard that was made, and one beside the limiting one', async () => {
    const guard: CanActivate = { canActivate: () => true };
    await using http = await serve('Express', {}, { guards: [RateLimitGuard, guard] });
    expect((await ask(http, 'GET', `${LIMITS}/table`)).status).toBe(200);
  });
});
