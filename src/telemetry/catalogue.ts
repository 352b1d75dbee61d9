import type { MetricDefinition, MetricGroup } from './definition.ts'
import { AUTHORIZATION } from './definitions/authorization.ts'
import { CONFIGURATION } from './definitions/configuration.ts'
import { CONTROLLER } from './definitions/controller.ts'
import { DOWNSTREAM } from './definitions/downstream.ts'
import { GEN_AI } from './definitions/gen-ai.ts'
import { LIMITS } from './definitions/limits.ts'
import { LLM } from './definitions/llm.ts'
import { MCP } from './definitions/mcp.ts'
import { PROCESS } from './definitions/process.ts'
import { REQUESTS } from './definitions/requests.ts'
import { STORAGE } from './definitions/storage.ts'
import { TELEMETRY } from './definitions/telemetry.ts'
import { UPSTREAM } from './definitions/upstream.ts'

/**
 * All metrics of the product, in the order of the documentation and scrapes. Names never change.
 */
export const CATALOGUE: readonly MetricGroup[] = [
  REQUESTS,
  AUTHORIZATION,
  DOWNSTREAM,
  UPSTREAM,
  LIMITS,
  LLM,
  GEN_AI,
  MCP,
  CONFIGURATION,
  STORAGE,
  CONTROLLER,
  PROCESS,
  TELEMETRY,
]

export const ALL_METRICS: readonly MetricDefinition[] = CATALOGUE.flatMap(({ metrics }) => metrics)
