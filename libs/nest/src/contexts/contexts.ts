import type { Type } from '@nestjs/common';
import type { Handler } from '../handlers/route.js';
import type { ContextAdapter } from './context-adapter.js';
import { graphqlContext } from './graphql.js';
import { HTTP } from './http.js';
import { ownAdapter } from './own-adapter.js';
import { rpcContext } from './rpc.js';
import { wsContext } from './ws.js';

/** The adapters of an application: the library's, and its own, which replace those of the same type. */
export class Contexts implements Iterable<ContextAdapter> {
  private readonly adapters: ReadonlyMap<string, ContextAdapter>;
  private readonly prepared = new Map<ContextAdapter, Promise<void>>();

  constructor(own: readonly ContextAdapter[]) {
    this.adapters = new Map(
      [HTTP, graphqlContext(), rpcContext(), wsContext(), ...own.map(ownAdapter)].map((adapter) => [
        adapter.type,
        adapter,
      ]),
    );
  }

  of(type: string): ContextAdapter | undefined {
    return this.adapters.get(type);
  }

  /** The adapter of the context that calls the method; undefined if none does. */
  adapterOf(type: Type, handler: Handler): ContextAdapter | undefined {
    for (const adapter of this.adapters.values()) if (adapter.isHandler(type, handler)) return adapter;
    return undefined;
  }

  /** Lets an adapter load what it needs, once. */
  prepare(adapter: ContextAdapter): Promise<void> {
    let preparing = this.prepared.get(adapter);
    if (preparing === undefined) this.prepared.set(adapter, (preparing = Promise.resolve(adapter.prepare?.())));
    return preparing;
  }

  [Symbol.iterator](): Iterator<ContextAdapter> {
    return this.adapters.values();
  }
}
