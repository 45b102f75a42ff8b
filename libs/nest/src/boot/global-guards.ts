import { type CanActivate, type ExecutionContext, Inject, Injectable, Optional } from '@nestjs/common';
import { ApplicationConfig } from '@nestjs/core';
import { globalGuards } from '../guard/application-guard.js';

/**
 * Calls the guards that are bound for all routes. If Nest calls them as well, the second call finds the message already
 * charged. In an application without `RateLimitModule` this guard lets every call pass: the metadata of a class outlives applications.
 */
@Injectable()
export class GlobalGuards implements CanActivate {
  constructor(@Optional() @Inject(ApplicationConfig) private readonly application?: ApplicationConfig) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.application === undefined) return true;
    for (const guard of globalGuards(this.application)) if (!(await guard.canActivate(context))) return false;
    return true;
  }
}
