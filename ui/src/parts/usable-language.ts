/*
 * A browser in a POSIX locale reports a language that Intl does not support (`en-US@posix`), and
 * the chart library reads it on load: the whole page would stay empty.
 */
try {
  new Intl.NumberFormat(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true })
}
