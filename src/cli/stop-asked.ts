/** Milliseconds in which a signal is the same one again: npm passes on what the terminal sent to all. */
const ECHO = 300

/** Resolves at SIGTERM or SIGINT; a second one ends the process at once. */
export function stopAsked(reload: () => void): Promise<void> {
  process.on('SIGHUP', reload)
  return new Promise((resolve) => {
    const stop = () => {
      process.off('SIGHUP', reload)
      const askedAt = performance.now()
      for (const signal of ['SIGTERM', 'SIGINT'] as const) {
        process.off(signal, stop)
        process.on(signal, () => {
          if (performance.now() - askedAt > ECHO) process.exit(1)
        })
      }
      resolve()
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
  })
}
