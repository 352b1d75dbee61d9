/*
 * A browser in a POSIX locale names a language that Intl does not know (`en-US@posix`), and charts
 * read it when their module is loaded: the whole page would stay empty.
 */
try {
  new Intl.NumberFormat(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true })
}
