import { Http1Headers } from '../../../src/wire/http1/header-view.ts'

// Loaded before the program: a header that throws when a rule reads it, and a SIGUSR2 handler that
// throws from a timer and rejects a promise.

const { get } = Http1Headers.prototype
Http1Headers.prototype.get = function (name: string) {
  if (name === 'x-thrower' && get.call(this, 'x-throws') !== undefined)
    throw new Error('planted rule')
  return get.call(this, name)
}

process.on('SIGUSR2', () => {
  setTimeout(() => {
    throw new Error('planted timer')
  })
  void Promise.reject(new Error('planted promise'))
})
