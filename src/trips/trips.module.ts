import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { ExportController } from './export/export.controller.js';
import { LanguageModel } from './summary/language-model.js';
import { ModelUnavailableFilter } from './summary/model-unavailable.filter.js';
import { PretendModel } from './summary/pretend-model.js';
import { SummariesController } from './summary/summaries.controller.js';
import { SummariesService } from './summary/summaries.service.js';
import { PaymentProvider } from './tip/payment-provider.js';
import { PretendPayments } from './tip/pretend-payments.js';
import { TipsController } from './tip/tips.controller.js';
import { TipsService } from './tip/tips.service.js';
import { TripLog } from './trip-log.js';
import { TripsController } from './trips.controller.js';

@Module({
  controllers: [TripsController, ExportController, SummariesController, TipsController],
  providers: [
    TripLog,
    SummariesService,
    { provide: LanguageModel, useClass: PretendModel },
    TipsService,
    { provide: PaymentProvider, useClass: PretendPayments },
    { provide: APP_FILTER, useClass: ModelUnavailableFilter },
  ],
  exports: [TripLog],
})
export class TripsModule {}
