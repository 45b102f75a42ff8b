import {
  type CanActivate,
  type DynamicModule,
  type ExecutionContext,
  Module,
  type ModuleMetadata,
  type Type,
} from '@nestjs/common';
import { RateLimitConfigError } from 'floodgate';
import type { RequestFunction } from 'floodgate/http';
import { checkNames, shown } from 'floodgate/internal';
import { isGuardClass } from '../guard/rate-limit.guard.js';
import { RateLimitRuntime } from '../guard/rate-limit.runtime.js';
import { ADMIN_DESK, adminController } from './admin-controller.js';
import type { AdminDesk } from './admin-desk.js';

/** The options of `RateLimitAdminModule.register`. */
export interface RateLimitAdminOptions {
  /** Where the endpoints are, behind the application's global prefix. Default `'admin/limits'`. */
  path?: string | undefined;
  /**
   * Who may use the endpoints: guards as in `@UseGuards`, at least one. They run after the application's global guards.
   * `RateLimitGuard` does not count.
   */
  guards: readonly (Type<CanActivate> | CanActivate)[];
  /** The modules that export what the guards inject. Default none. */
  imports?: ModuleMetadata['imports'] | undefined;
  /**
   * Returns the author of a request, for the history of overrides: text of up to 100 characters. Bodies may not name an
   * `author` then. A promise is awaited for `deadline`. A function that fails is a logged 500, and nothing is changed. Default:
   * the body's `author`.
   *
   * @example author: ({ user }: RateLimitRequest<{ user: Operator }>) => user.email
   */
  author?: RequestFunction<ExecutionContext, string | Promise<string>> | undefined;
}

const PLACE = 'RateLimitAdminModule.register';
const REGISTERED = Symbol('RateLimitAdminModule is registered');
const IMPORTED = Symbol('RateLimitAdminModule is imported');
const DEFAULT_PATH = 'admin/limits';

/**
 * REST endpoints for operators and support: what limits what (`table`), who is rejected most (`top-rejected`), why a client is
 * rejected (`explain`), `reset`, and the overrides. docs/admin.md lists them.
 *
 * They are not limited, apart from the module's `middleware`. Identities are in bodies, never in URLs.
 *
 * @example
 * ```ts
 * \@Module({ imports: [RateLimitModule.forRoot(), RateLimitAdminModule.register({ guards: [SupportGuard] })] })
 * export class AppModule {}
 * ```
 */
@Module({
  providers: [
    {
      provide: IMPORTED,
      inject: [{ token: REGISTERED, optional: true }],
      useFactory: (registered: true | undefined) => {
        if (registered === undefined) throw importedPlain();
        return registered;
      },
    },
  ],
})
export class RateLimitAdminModule {
  /** @throws {RateLimitConfigError} without a guard, or for a wrong option; at boot, when `RateLimitModule` is not imported */
  static register(options: RateLimitAdminOptions): DynamicModule {
    const { path, guards, imports, author } = checked(options);
    const desk = {
      provide: ADMIN_DESK,
      inject: [{ token: RateLimitRuntime, optional: true }],
      useFactory: async (runtime: RateLimitRuntime | undefined): Promise<AdminDesk> => {
        if (runtime === undefined) {
          throw new RateLimitConfigError(
            'RateLimitAdminModule',
            'needs RateLimitModule to be imported, too',
            'FG_MODULE_IMPORT',
          );
        }
        const { AdminDesk } = await import('./admin-desk.js');
        return new AdminDesk(runtime, author);
      },
    };
    return {
      module: RateLimitAdminModule,
      imports,
      controllers: [adminController(path, guards)],
      providers: [desk, { provide: REGISTERED, useValue: true }],
    };
  }
}

type Checked = Required<Pick<RateLimitAdminOptions, 'path' | 'guards' | 'imports'>> &
  Pick<RateLimitAdminOptions, 'author'>;

function checked(options: RateLimitAdminOptions): Checked {
  const wrong = (problem: string): RateLimitConfigError => new RateLimitConfigError(PLACE, problem);
  if (options !== undefined && (typeof options !== 'object' || options === null || Array.isArray(options))) {
    throw wrong(`options must be an object such as { guards: [SupportGuard] }, got ${shown(options)}`);
  }
  const given: Partial<RateLimitAdminOptions> = options ?? {};
  checkNames(given, ['path', 'guards', 'imports', 'author'], PLACE);
  const { path = DEFAULT_PATH, guards = [], imports = [], author } = given;
  if (typeof path !== 'string' || !/^[\w/.~-]*\w[\w/.~-]*$/.test(path)) {
    throw wrong(`path must be the path of a controller, such as '${DEFAULT_PATH}', got ${shown(path)}`);
  }
  if (!Array.isArray(guards)) throw wrong(`guards must be an array such as [SupportGuard], got ${shown(guards)}`);
  const notGuard = guards.findIndex((guard) => !isGuard(guard));
  if (notGuard !== -1) {
    const circular = guards[notGuard] === undefined ? ' (is it imported in a circle?)' : '';
    throw wrong(
      `guards[${notGuard}] must be a class or an object with canActivate, got ${shown(guards[notGuard])}${circular}`,
    );
  }
  if (guards.every(isGuardClass)) {
    const got = guards.length === 0 ? 'none' : 'RateLimitGuard, which lets every client in';
    throw new RateLimitConfigError(
      PLACE,
      `guards must have at least one guard that knows the operators, such as [SupportGuard], got ${got}: anybody could lift ` +
        `limits, block clients and read whom you serve`,
      'FG_ADMIN_GUARD',
    );
  }
  if (!Array.isArray(imports)) throw wrong(`imports must be an array of modules, got ${shown(imports)}`);
  if (author !== undefined && typeof author !== 'function') {
    throw wrong(`author must be a function of the request, got ${shown(author)}`);
  }
  return { path, guards, imports, author };
}

function isGuard(guard: unknown): boolean {
  const methods = (typeof guard === 'function' ? guard.prototype : guard) as Partial<CanActivate> | null | undefined;
  return typeof methods?.canActivate === 'function';
}

function importedPlain(): RateLimitConfigError {
  return new RateLimitConfigError(
    'RateLimitAdminModule',
    'is imported without options: import RateLimitAdminModule.register({ guards: [...] })',
    'FG_MODULE_IMPORT',
  );
}
