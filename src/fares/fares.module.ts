import { Module } from '@nestjs/common';
import { ZonesModule } from '../zones/zones.module.js';
import { FaresController } from './fares.controller.js';
import { QuotesService } from './quotes.service.js';

@Module({
  imports: [ZonesModule],
  controllers: [FaresController],
  providers: [QuotesService],
  exports: [QuotesService],
})
export class FaresModule {}
