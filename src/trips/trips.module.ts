import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { ExportController } from './export/export.controller.js';
import { LanguageModel } from './summary/language-model.js';
import { ModelUnavailableFilter } from './summary/model-unavailable.filter.js';
import { PretendModel } from './summary/pretend-model.js';
import { SummariesController } from './summary/summaries.controller.js';
import { SummariesService } from './summary/summaries.service.js';
import { TripLog } from './trip-log.js';
import { TripsController } from './trips.controller.js';

@Module({
  controllers: [TripsController, ExportController, SummariesController],
  providers: [
    TripLog,
    SummariesService,
    { provide: LanguageModel, useClass: PretendModel },
    { provide: APP_FILTER, useClass: ModelUnavailableFilter },
  ],
  exports: [TripLog],
})
export class TripsModule {}
