import { Module } from '@nestjs/common';
import { DriversModule } from '../drivers/drivers.module.js';
import { LocalMatchingService } from './local-matching.service.js';
import { Matching } from './matching.js';

@Module({
  imports: [DriversModule],
  providers: [{ provide: Matching, useClass: LocalMatchingService }],
  exports: [Matching],
})
export class MatchingModule {}
