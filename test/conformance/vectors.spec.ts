import { ALGORITHMS } from '../../lab/trial/vectors/vector.js';
import { vectorLaws } from '../support/vector-laws.js';
import { describeForEveryStore } from './conformance.js';

describeForEveryStore('the vectors', vectorLaws(ALGORITHMS));
