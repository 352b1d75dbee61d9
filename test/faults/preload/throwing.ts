import { Http1Headers } from '../../../src/wire/http1/header-view.ts'

// Loaded before the program itself: a header that throws where a rule reads it, and throws of the
// process itself when it is told to.

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
