import { createLogger, type Logger, type LoggerOptions } from './log.ts'
import { createLogSink, type LogSink, type LogSinkOptions } from './log-sink.ts'

export interface OpenLog {
  readonly log: Logger
  readonly sink: LogSink
}

export type OpenLogOptions = Omit<LoggerOptions, 'write'> & Omit<LogSinkOptions, 'onDropped'>

/** The log of a process: a logger and its sink, which logs a warning when it had to drop lines. */
export function openLog(options: OpenLogOptions): OpenLog {
  const sink = createLogSink({
    ...options,
    onDropped: (lines) => {
      log.warn('log', { error: 'the reader of the log is too slow', dropped: lines })
    },
  })
  const log = createLogger({ ...options, write: sink.write })
  return { log, sink }
}
