/** Milliseconds in which a signal counts as repeated: npm forwards what the terminal sent. */
const ECHO = 300

/** Resolves on SIGTERM or SIGINT; a second signal exits the process immediately. */
export function stopRequested(reload: () => void): Promise<void> {
  process.on('SIGHUP', reload)
  return new Promise((resolve) => {
    const stop = () => {
      process.off('SIGHUP', reload)
      const requestedAt = performance.now()
      for (const signal of ['SIGTERM', 'SIGINT'] as const) {
        process.off(signal, stop)
        process.on(signal, () => {
          if (performance.now() - requestedAt > ECHO) process.exit(1)
        })
      }
      resolve()
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
  })
}
