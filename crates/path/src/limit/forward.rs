//! Rules that hand their work on to another.

/// All methods of [`Limit`](super::Limit) but its unit, handed on to a rule: `forward_limit!(self => self.rule)`.
macro_rules! forward_limit {
    ($self:ident => $rule:expr) => {
        fn begin(&mut $self, now_ns: u64) {
            $rule.begin(now_ns);
        }

        fn limit(&$self) -> u32 {
            $rule.limit()
        }

        fn completed(&mut $self, round: &$crate::limit::Round) -> u32 {
            $rule.completed(round)
        }

        fn asks_return(&$self) -> bool {
            $rule.asks_return()
        }

        fn asks_rate(&$self) -> bool {
            $rule.asks_rate()
        }

        fn reset(&mut $self, now_ns: u64) {
            $rule.reset(now_ns);
        }

        fn config(&$self) -> taut_dql::Config {
            $rule.config()
        }

        fn set_config(&mut $self, config: taut_dql::Config) -> Result<(), taut_dql::Error> {
            $rule.set_config(config)
        }
    };
}

pub(super) use forward_limit;
