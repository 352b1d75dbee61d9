import type { MetricDefinition, MetricGroup } from './definition.ts'
import { AUTHORIZATION } from './definitions/authorization.ts'
import { CONFIGURATION } from './definitions/configuration.ts'
import { DOWNSTREAM } from './definitions/downstream.ts'
import { LIMITS } from './definitions/limits.ts'
import { PROCESS } from './definitions/process.ts'
import { REQUESTS } from './definitions/requests.ts'
import { TELEMETRY } from './definitions/telemetry.ts'
import { UPSTREAM } from './definitions/upstream.ts'

/** Every metric of the product, in the order of its page and of a scrape. Names never change. */
export const CATALOGUE: readonly MetricGroup[] = [
  REQUESTS,
  AUTHORIZATION,
  DOWNSTREAM,
  UPSTREAM,
  LIMITS,
  CONFIGURATION,
  PROCESS,
  TELEMETRY,
]

export const ALL_METRICS: readonly MetricDefinition[] = CATALOGUE.flatMap(({ metrics }) => metrics)
