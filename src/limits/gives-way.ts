import { Reflector } from '@nestjs/core';
import type { ShedOptions } from 'nestjs-floodgate';

/** The classes of requests that give way while a process cannot keep up, lowest first. */
export const CLASSES = ['background', 'normal'] as const;

/** Says in which class requests of a handler, or of all handlers of a class, give way. Requests without one never do. */
export const GivesWay = Reflector.createDecorator<(typeof CLASSES)[number]>();

const reflector = new Reflector();

/** Rides are what riders come for. Estimates and maps can wait for some seconds, and what is past for longer. */
export const shedding: ShedOptions = {
  classes: CLASSES,
  priority: (_, context) => reflector.getAllAndOverride(GivesWay, [context.getHandler(), context.getClass()]),
  eventLoopDelay: '100ms',
  eventLoopUtilization: 0.97,
};
