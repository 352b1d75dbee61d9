/** To the millisecond, with the date if it is not of today. */
export function timeWords(time: Date, now: Date): string {
  const clock = time.toLocaleTimeString(undefined, {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    hour12: false,
  })
  const isToday = time.toDateString() === now.toDateString()
  return isToday ? clock : `${time.toLocaleDateString()} ${clock}`
}
