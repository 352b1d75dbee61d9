import { chartValue } from './chart-value.ts'
import { command } from './command.ts'
import { celFunction } from './function.ts'
import { lintCheck } from './lint-check.ts'
import { metric } from './metric.ts'
import { policy } from './policy.ts'
import { setting } from './setting.ts'
import type { Task } from './task.ts'

/** In the order of the table in ARCHITECTURE.md. */
export const TASKS: readonly Task[] = [
  policy,
  celFunction,
  lintCheck,
  metric,
  setting,
  command,
  chartValue,
]
