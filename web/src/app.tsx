// SPDX-License-Identifier: Apache-2.0
import { render } from 'preact';
import './app.css';

const isChinese = document.documentElement.lang.startsWith('zh');

function App() {
  return (
    <main>
      <h1>Inferometer</h1>
      <p>
        {isChinese
          ? 'Inferometer 是大模型推理服务前面的测量网关：延迟、令牌、告警与事件。'
          : 'Inferometer is a measuring gateway in front of LLM engines: latency, tokens, alerts and incidents.'}
      </p>
      <p>
        <a href="/status">{isChinese ? '状态' : 'Status'}</a>
      </p>
    </main>
  );
}

render(<App />, document.getElementById('app')!);
