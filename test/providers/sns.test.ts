import { expect, test, vi } from 'vitest'
import { MAX_ANSWER_BYTES } from '../../src/providers/provider.ts'
import { confirmSubscription } from '../../src/providers/ses/sns.ts'
import { answerText, serve } from '../support/fake-http.ts'

test.each([200, 400])('an answer %i of SNS of ten megabytes is not read to its end', async status => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test')
  const sns = await serve(async (request, response) => {
    request.resume()
    answerText(response, status, `<a>${'x'.repeat(10_000_000)}</a>`, { 'content-type': 'text/xml' })
  })
  try {
    const confirming = confirmSubscription({ topicArn: 'arn:aws:sns:x', token: 't', region: 'us-east-1' }, sns.url)
    await expect(confirming).rejects.toThrow(`longer than ${MAX_ANSWER_BYTES} bytes`)
  } finally {
    vi.unstubAllEnvs()
    await sns.close()
  }
})
