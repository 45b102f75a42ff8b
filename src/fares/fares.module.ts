import { Module } from '@nestjs/common';
import { MatchingModule } from '../matching/matching.module.js';
import { ZonesModule } from '../zones/zones.module.js';
import { FaresController } from './fares.controller.js';
import { QuotesService } from './quotes.service.js';

@Module({
  imports: [MatchingModule, ZonesModule],
  controllers: [FaresController],
  providers: [QuotesService],
  exports: [QuotesService],
})
export class FaresModule {}
