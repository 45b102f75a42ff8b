import { describeMoments } from './support/moments.js';
import { grpcCalls, grpcStreamCalls } from './transports/grpc.js';

describeMoments(grpcCalls);
describeMoments(grpcStreamCalls);
