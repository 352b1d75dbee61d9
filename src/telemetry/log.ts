import { type Clock, createClock } from './clock.ts'
import { createJsonForm } from './log-json.ts'
import { createTextForm } from './log-text.ts'
import { createTimestamps, type Milliseconds } from './time-text.ts'

/** Ordered by increasing verbosity. */
export const LEVELS = ['error', 'warn', 'info', 'debug', 'trace'] as const
export type Level = (typeof LEVELS)[number]

export type LogValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | Milliseconds
  | readonly LogValue[]
  | { readonly [name: string]: LogValue }

/** Written in order; undefined fields are omitted. */
export type LogFields = { readonly [name: string]: LogValue }

/** One record as a line, including the line break. */
export type LogForm = (time: string, level: Level, scope: string, fields: LogFields) => string

type Write = (scope: string, fields?: LogFields) => void

export interface Logger {
  readonly error: Write
  readonly warn: Write
  readonly info: Write
  readonly debug: Write
  readonly trace: Write
  /**
   * Written regardless of level and sampling: a record of who changed what must not depend on them.
   */
  readonly audit: (fields: LogFields) => void
  /** Whether a record of this level would be written: call it before computing expensive fields. */
  readonly isOn: (level: Level) => boolean
  readonly level: () => Level | 'off'
  readonly setLevel: (level: Level | 'off') => void
  readonly setSample: (share: number) => void
}

export interface LoggerOptions {
  readonly format: 'text' | 'json'
  readonly level: Level | 'off'
  readonly write: (line: string) => void
  readonly clock?: Clock
  /** The share of records that are written, 0 to 1. Errors and warnings are always written. */
  readonly sample?: number
}

const SAMPLED_FROM = LEVELS.indexOf('info')

export function createLogger(options: LoggerOptions): Logger {
  const { format, write, clock = createClock() } = options
  const form = format === 'json' ? createJsonForm() : createTextForm()
  const timestamp = createTimestamps()
  let verbosity = verbosityOf(options.level)
  let share = options.sample ?? 1

  const writer = (level: Level): Write => {
    const rank = LEVELS.indexOf(level)
    return (scope, fields = NO_FIELDS) => {
      if (rank > verbosity) return
      if (share < 1 && rank >= SAMPLED_FROM && Math.random() >= share) return
      write(form(timestamp(clock()), level, scope, fields))
    }
  }

  return {
    error: writer('error'),
    warn: writer('warn'),
    info: writer('info'),
    debug: writer('debug'),
    trace: writer('trace'),
    audit: (fields) => write(form(timestamp(clock()), 'info', 'audit', fields)),
    isOn: (level) => LEVELS.indexOf(level) <= verbosity,
    level: () => LEVELS[verbosity] ?? 'off',
    setLevel: (level) => {
      verbosity = verbosityOf(level)
    },
    setSample: (next) => {
      share = next
    },
  }
}

const NO_FIELDS: LogFields = {}

function verbosityOf(level: Level | 'off'): number {
  return level === 'off' ? -1 : LEVELS.indexOf(level)
}
