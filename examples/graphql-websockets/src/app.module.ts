import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Module } from '@nestjs/common';
import { Args, GraphQLModule, Mutation, Query, Resolver } from '@nestjs/graphql';
import { MessageBody, SubscribeMessage, WebSocketGateway, type WsResponse } from '@nestjs/websockets';
import { RateLimit, RateLimitModule } from 'nestjs-floodgate';

@Resolver()
export class AccountResolver {
  @Query(() => String)
  hello(): string {
    return 'hello';
  }

  // Each root field of a mutation counts: ten aliases of `login` in one operation are ten guesses.
  @Mutation(() => Boolean, { nullable: true })
  @RateLimit({ name: 'login', algorithm: 'sliding-window-log', limit: 5, window: '15m' })
  login(@Args('password') password: string): boolean {
    return password === 'open sesame';
  }
}

@WebSocketGateway()
export class ChatGateway {
  // A connection counts, too: the 31st of a minute from one address is closed.
  @RateLimit({ name: 'connections', algorithm: 'sliding-window-counter', limit: 30, window: '1m' })
  handleConnection(): void {}

  @SubscribeMessage('say')
  @RateLimit({ name: 'messages', algorithm: 'token-bucket', capacity: 3, refill: '1/s' })
  say(@MessageBody() text: string): WsResponse<string> {
    return { event: 'said', data: text };
  }
}

@Module({
  imports: [
    RateLimitModule.forRoot(),
    GraphQLModule.forRoot<ApolloDriverConfig>({
      driver: ApolloDriver,
      autoSchemaFile: true,
      includeStacktraceInErrorResponses: false,
    }),
  ],
  providers: [AccountResolver, ChatGateway],
})
export class AppModule {}
